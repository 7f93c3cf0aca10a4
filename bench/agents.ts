/**
 * Benches of an agent's surroundings: which share of the time with a model Holdfast takes, against the same
 * agent without it, and the memory of Holdfast's processes while many agents run.
 *
 * The first bench is for Claude Code, which is found on PATH or in HOLDFAST_AGENTS. If it is missing, the
 * bench prints that and leaves the row out. The second uses the stand-in of the tests.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, delimiter, dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { readProcessRecord } from "../src/home/index.ts";
import { findHomeRuntimeDir, removeRuntimeDir } from "../src/mail/index.ts";
import { findProgram } from "../src/process/index.ts";
import { treeOf } from "../src/process/tree.ts";
import { type ScriptedModel, startScriptedModel } from "../src/testing/index.ts";
import { deadline, readTextOr, systemClock } from "../src/util/index.ts";
import { atMost, median, type Row } from "./measure.ts";

const cli = join(import.meta.dirname, "..", "dist", "cli", "main.js");
const standIn = join(import.meta.dirname, "..", "test", "fixtures", "agents", "claude.ts");
const ROUNDS = 7;
const MANY = 50;
/** Until all of them have asked their model, on a busy machine. */
const MOST_MS = 10 * 60_000;
const installed = process.env["HOLDFAST_AGENTS"];
const KEY = "scripted-key-0000000000000000000000";
const call = (command: string) => ({ call: { bash: { command } } });

type Env = Record<string, string>;

export async function benchAgents(directory: string, progress: (text: string) => void): Promise<Row[]> {
  await using model = await startScriptedModel({
    scripts: {
      work: [call("echo one > one"), call("cat one"), call("ls"), { say: "Done." }],
      long: [{ delayMs: 2 * MOST_MS, say: "Late." }],
    },
  });
  const repo = join(directory, "agents-repo");
  await makeRepo(repo);
  const bin = makeStandIn(directory);
  return [
    ...(await benchShare({ directory, repo, bin, model }, progress)),
    ...(await benchMemory({ directory, repo, bin, model }, progress)),
  ];
}

interface Ground {
  readonly directory: string;
  readonly repo: string;
  /** The directory of the stand-in. */
  readonly bin: string;
  readonly model: ScriptedModel;
}

/** From an agent's first request to the last byte of its last answer, as the provider sees it. */
async function benchShare({ directory, repo, model }: Ground, progress: (text: string) => void) {
  const claude = installed && join(installed, "node_modules", ".bin", "claude");
  const real = claude && existsSync(claude) ? claude : findProgram("claude");
  if (real === undefined) {
    progress("Claude Code was not found, so its row is left out; HOLDFAST_AGENTS can name its directory");
    return [];
  }
  progress("time with Claude Code");
  const PATH = [dirname(real), process.env["PATH"]].join(delimiter);
  const clock = await startClock(model.url);
  const home = join(directory, "agents-home");
  writeSettings(home, clock.url);
  const direct: Env = {
    PATH,
    ANTHROPIC_BASE_URL: clock.url,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    IS_SANDBOX: "1",
  };
  const alone = [real, "-p", "[[work]]", "--permission-mode", "bypassPermissions"];
  const through: Env = { ...process.env, PATH, HOLDFAST_HOME: home, ANTHROPIC_API_KEY: KEY, NO_COLOR: "1" };
  const held = [process.execPath, cli, "run", "--agent", "claude", "[[work]]"];
  const times = { direct: [] as number[], through: [] as number[] };
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      times.direct.push(
        await clock.time(() => run(alone, repo, { ...direct, HOME: freshDir(directory, round) })),
      );
      times.through.push(await clock.time(() => run(held, repo, through)));
    }
  } finally {
    clock.close();
  }
  const [directMs, throughMs] = [median(times.direct.slice(1)), median(times.through.slice(1))];
  return [
    atMost(
      "share that Holdfast takes of the time from the first request to the last byte: Claude Code, three calls",
      `${Math.round(throughMs)} ms : ${Math.round(directMs)} ms`,
      (throughMs - directMs) / throughMs,
      0.1,
      "of it",
    ),
  ];
}

/** The agents wait for their model; all of them are alive. */
async function benchMemory({ directory, repo, bin, model }: Ground, progress: (text: string) => void) {
  const home = join(directory, "agents-many");
  writeSettings(home, model.url);
  const PATH = [bin, process.env["PATH"]].join(delimiter);
  const env: Env = { ...process.env, PATH, HOLDFAST_HOME: home, ANTHROPIC_API_KEY: KEY, NO_COLOR: "1" };
  const hold = (...words: string[]) => run([process.execPath, cli, ...words], repo, env);
  progress(`${MANY} running agents`);
  const before = model.requests.length;
  try {
    for (let count = 1; count <= MANY; count += 1)
      await hold("run", "--detach", "--name", `many-${count}`, "--agent", "claude", "[[long]]");
    const patience = deadline(systemClock, MOST_MS);
    while (model.requests.length < before + MANY) {
      if (patience.isPast)
        throw new Error(`of ${MANY} agents ${model.requests.length - before} asked the model`);
      await sleep(100);
    }
    const ids = JSON.parse(await hold("ls", "--json")).map(({ id }: { id: string }) => id) as string[];
    const around = ids.map((id) => {
      const pid = readProcessRecord(join(home, "sessions", id))?.pid ?? 0;
      return treeOf(pid)
        .filter((one) => !isAgent(one, bin))
        .reduce((sum, one) => sum + pssMb(one), 0);
    });
    // One broker serves all of them.
    const pss = median(around) + pssMb(brokerOf(home)) / MANY;
    const row = atMost(
      `Holdfast's processes for one running agent, with its share of the broker: PSS with ${MANY} alive`,
      `${pss.toFixed(1)} MB`,
      pss,
      45,
      "MB",
    );
    return [row];
  } finally {
    for (let count = 1; count <= MANY; count += 1)
      await hold("pause", `many-${count}`).catch(() => undefined);
    const runtime = findHomeRuntimeDir(home);
    if (runtime) removeRuntimeDir(runtime);
  }
}

const wordsOf = (pid: number) => readTextOr(`/proc/${pid}/cmdline`, "").split("\0");

/**
 * Is it the stand-in itself? A program that starts it, such as bubblewrap, has its name among its words, and
 * is ours.
 */
function isAgent(pid: number, bin: string): boolean {
  const [program = "", ...words] = wordsOf(pid);
  return basename(program) === "node" && words[0] === join(bin, "claude.ts");
}

function brokerOf(home: string): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const isIt = (words: readonly string[]) =>
    words.includes(home) && words.some((word) => word.endsWith("/broker/main.js"));
  const pid = pids.map(Number).find((one) => isIt(wordsOf(one)));
  if (pid === undefined) throw new Error("agents run, but there is no broker");
  return pid;
}

function pssMb(pid: number): number {
  const [, kb] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
  return Number(kb ?? Number.NaN) / 1024;
}

/** A server before the model. It notes the time of the first request and of the end of the last answer. */
async function startClock(target: string) {
  let firstMs: number | undefined;
  let lastMs = 0;
  const server = createServer((asked, response) => {
    // Requests of the agent outside of its conversation do not count.
    if (asked.method === "POST") firstMs ??= performance.now();
    const onward = request(`${target}${asked.url}`, { method: asked.method, headers: asked.headers });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response).on("finish", () => {
        lastMs = performance.now();
      });
    });
    onward.on("error", () => response.destroy());
    asked.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async time(work: () => Promise<unknown>): Promise<number> {
      firstMs = undefined;
      await work();
      return lastMs - (firstMs ?? Number.NaN);
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A session's HOME is fresh, too. */
function freshDir(directory: string, round: number): string {
  const dir = join(directory, `agents-own-${round}`);
  mkdirSync(dir);
  return dir;
}

function makeStandIn(directory: string): string {
  const bin = join(directory, "agents-bin");
  mkdirSync(bin);
  copyFileSync(standIn, join(bin, "claude.ts"));
  const script = '#!/bin/sh\nexec node "$(dirname "$0")/claude.ts" "$@"\n';
  writeFileSync(join(bin, "claude"), script, { mode: 0o755 });
  return bin;
}

function writeSettings(home: string, url: string): void {
  mkdirSync(home, { mode: 0o700 });
  const settings = `providers: { anthropic: { base_url: "${url}" } }\n`;
  writeFileSync(join(home, "settings.yaml"), settings, { mode: 0o600 });
}

async function makeRepo(repo: string): Promise<void> {
  mkdirSync(repo);
  writeFileSync(join(repo, "a.txt"), "a\n");
  const who = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"];
  for (const words of [
    ["init", "-q"],
    ["add", "-A"],
    [...who, "commit", "-qm", "files"],
  ])
    await run(["git", ...words], repo, process.env as Env);
}

async function run([program = "", ...args]: readonly string[], cwd: string, env: Env): Promise<string> {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let said = "";
  child.stdout.on("data", (data: Buffer) => (out += data));
  child.stderr.on("data", (data: Buffer) => (said += data));
  const [status] = await once(child, "close");
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${status}\n${said}${out}`);
  return out;
}
