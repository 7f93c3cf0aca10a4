/**
 * Benches of a sandbox's network: the throughput of the proxy, against the same program without it, and of a
 * bare relay, because any program in the middle uses some of the machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TaskNetwork } from "../src/network/task-network.ts";
import { findProgram, trySandbox } from "../src/process/index.ts";
import { atLeast, compared, inTurns, type Row } from "./measure.ts";

const BYTES = 256 * 1024 * 1024;
const ROUNDS = 9;

/** Sends as many bytes as it is asked for, and reads what it is sent. */
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
  const others: ChildProcess[] = [];
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
    const bare = await bareRelay(directory, port, others);
    const named = `http://bench.example:${port}/`;
    const outside = (...args: string[]) => run(["curl", "-sS", "-o", "/dev/null", ...args], env);
    const inside = (...args: string[]) =>
      run([...enter, "curl", "-sS", "-o", "/dev/null", ...args], { ...env, ...network.environment });
    const floors =
      bare === undefined ? {} : { downBare: () => outside(bare), upBare: () => outside("-T", file, bare) };
    const times = await inTurns<string>(
      {
        down: () => outside(direct),
        downPlain: () => inside(named),
        downTunnel: () => inside("-p", named),
        up: () => outside("-T", file, direct),
        upTunnel: () => inside("-p", "-T", file, named),
        ...floors,
      },
      { rounds: ROUNDS, perRound: 1 },
    );
    network.close();
    const { down = 0, up = 0, downTunnel = 0, downPlain = 0, upTunnel = 0, downBare, upBare } = times;
    const speeds = (through: number, without: number) => `${speed(through)} : ${speed(without)}`;
    const row = (what: string, through: number, without: number) =>
      atLeast(what, speeds(through, without), without / through, 0.5);
    const floor = (what: string, through: number | undefined, without: number) =>
      through === undefined ? [] : [compared(what, speeds(through, without), without / through)];
    return [
      row("curl downloads through a tunnel of the proxy, against no proxy", downTunnel, down),
      row("the same as a plain request", downPlain, down),
      ...floor("the same through a bare relay in C", downBare, down),
      row("curl uploads through a tunnel of the proxy, against no proxy", upTunnel, up),
      ...floor("the same through a bare relay in C", upBare, up),
    ];
  } finally {
    for (const child of [server, sandbox, ...others]) child.kill("SIGKILL");
  }
}

/** The address of the relay, if there is a compiler. */
async function bareRelay(
  directory: string,
  port: string,
  others: ChildProcess[],
): Promise<string | undefined> {
  if (!findProgram("cc")) return undefined;
  const program = join(directory, "relay");
  await run(["cc", "-O2", "-o", program, join(import.meta.dirname, "relay.c")], process.env);
  const relay = spawn(program, [port], { stdio: ["ignore", "pipe", "inherit"] });
  others.push(relay);
  return `http://127.0.0.1:${await firstLine(relay.stdout)}/`;
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
