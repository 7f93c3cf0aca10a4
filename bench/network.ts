/**
 * Benches of a sandbox's network: what the proxy carries, against the same program without it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TaskNetwork } from "../src/network/task-network.ts";
import { findProgram, trySandbox } from "../src/process/index.ts";
import { atLeast, inTurns, type Row } from "./measure.ts";

const BYTES = 256 * 1024 * 1024;
const ROUNDS = 9;

/** Gives as many bytes as it is asked for, and takes what comes. */
const SERVER = `
  const chunk = Buffer.alloc(256 * 1024, "x");
  require("node:http").createServer((request, response) => {
    if (request.method === "PUT") return void request.resume().on("end", () => response.end());
    let left = ${BYTES};
    response.writeHead(200, { "content-length": left });
    const more = () => {
      while (left > 0) {
        left -= chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });`;

export async function benchNetwork(directory: string, progress: (text: string) => void): Promise<Row[]> {
  if ((await trySandbox()) || !findProgram("curl")) return [];
  progress("the proxy of a sandbox");
  const server = spawn(process.execPath, ["-e", SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  const keep = ["--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--"];
  const sandbox = spawn("bwrap", [...keep, "sh", "-c", "echo $$; exec sleep infinity"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [port, pid] = [await firstLine(server.stdout), await firstLine(sandbox.stdout)];
    const user = process.getuid?.() === 0 ? [] : ["-U", "--preserve-credentials"];
    const enter = ["nsenter", "-t", pid, ...user, "-n", "--"];
    const network = await TaskNetwork.begin({
      enter,
      hosts: [`bench.example:${port}`],
      resolve: async () => ["127.0.0.1"],
      kindOf: () => "public",
    });
    const file = join(directory, "upload");
    writeFileSync(file, "");
    truncateSync(file, BYTES);
    const env = { PATH: process.env["PATH"] ?? "" };
    const direct = `http://127.0.0.1:${port}/`;
    const named = `http://bench.example:${port}/`;
    const outside = (...args: string[]) => run(["curl", "-sS", "-o", "/dev/null", ...args], env);
    const inside = (...args: string[]) =>
      run([...enter, "curl", "-sS", "-o", "/dev/null", ...args], { ...env, ...network.environment });
    const times = await inTurns(
      {
        down: () => outside(direct),
        downPlain: () => inside(named),
        downTunnel: () => inside("-p", named),
        up: () => outside("-T", file, direct),
        upTunnel: () => inside("-p", "-T", file, named),
      },
      { rounds: ROUNDS, perRound: 1 },
    );
    network.close();
    const row = (what: string, through: number, bare: number) =>
      atLeast(what, `${speed(through)} : ${speed(bare)}`, bare / through, 0.5);
    return [
      row("curl downloads through a tunnel of the proxy, against without it", times.downTunnel, times.down),
      row("the same as a plain request", times.downPlain, times.down),
      row("curl uploads through a tunnel of the proxy, against without it", times.upTunnel, times.up),
    ];
  } finally {
    server.kill("SIGKILL");
    sandbox.kill("SIGKILL");
  }
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  const [line] = await once(createInterface({ input: stream }), "line");
  return String(line);
}

async function run([program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${status}`);
}

const speed = (ms: number) => `${Math.round(BYTES / 1024 / 1024 / (ms / 1000))} MB/s`;
