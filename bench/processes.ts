/**
 * Benches of session processes: a whole task against a bare start of Node, the time that a message takes to a
 * running session, and the cost of a session at rest.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskSpec } from "../src/contract/task-spec.ts";
import { readProcessRecord } from "../src/home/index.ts";
import { findHomeRuntimeDir, removeRuntimeDir } from "../src/mail/index.ts";
import { atMost, compared, inTurns, median, type Row } from "./measure.ts";

const dist = join(import.meta.dirname, "..", "dist");
const cli = join(dist, "cli", "main.js");
const FILES = 1000;
const MANY = 50;
const MAX_PSS_MB = 30;
const MESSAGES = 60;

const { Dispatcher } = (await import(
  join(dist, "dispatch", "index.js")
)) as typeof import("../src/dispatch/index.ts");
type Dispatcher = Awaited<ReturnType<typeof Dispatcher.open>>;

export async function benchProcesses(directory: string, progress: (text: string) => void): Promise<Row[]> {
  const home = join(directory, "processes");
  const repo = join(directory, "thousand");
  await makeRepo(repo);
  const env = { ...process.env, HOLDFAST_HOME: home, NO_COLOR: "1" };
  const node = (...args: string[]) => run([process.execPath, ...args], repo, env);
  const rows: Row[] = [];

  progress("a whole task");
  await node(cli, "run", "--", "true");
  const times = await inTurns(
    {
      bare: () => node("-e", "0"),
      version: () => node(cli, "--version"),
      task: () => node(cli, "run", "--", "true"),
    },
    { rounds: 15, perRound: 1 },
  );
  const against = (name: "version" | "task") => `${ms(times[name])} : ${ms(times.bare)}`;
  rows.push(
    atMost(
      "holdfast run -- true (1,000 files, warm base), against node -e 0",
      against("task"),
      times.task / times.bare,
      12,
    ),
    atMost("holdfast --version, against node -e 0", against("version"), times.version / times.bare, 2),
  );

  const dispatcher = await Dispatcher.open({ home });
  const ids: string[] = [];
  try {
    progress("one running session");
    ids.push(await running(dispatcher, repo));
    const alone = await messageMs(dispatcher, ids);
    progress(`${MANY} running sessions`);
    while (ids.length < MANY) ids.push(await running(dispatcher, repo));
    const pids = processesOf(home, ids);
    const pss = median(pids.map((pid) => memoryMb(pid, "smaps_rollup", "Pss")));
    const rss = median(pids.map((pid) => memoryMb(pid, "status", "VmRSS")));
    const first = await messageMs(dispatcher, ids);
    const among = await messageMs(dispatcher, ids.slice(0, 1));
    progress(`${MANY} sessions at rest`);
    for (const id of ids) await dispatcher.pause(id);
    const left = processesOf(home, ids).length;
    rows.push(
      atMost(
        `session process while its command runs: PSS with ${MANY} alive`,
        `${pss.toFixed(1)} MB`,
        pss,
        MAX_PSS_MB,
        "MB",
      ),
      compared("session process while its command runs: RSS", `${rss.toFixed(1)} MB`, rss),
      atMost(
        `send to message_received, p50, the first to each of ${MANY} running sessions`,
        ms(first),
        first,
        30,
        "ms",
      ),
      atMost(
        `the same to one of ${MANY}, repeatedly, against a session that runs alone`,
        `${ms(among)} : ${ms(alone)}`,
        among / alone,
        2,
      ),
      atMost(
        `processes of ${MANY} sessions at rest`,
        left === 0 ? "none" : String(left),
        left,
        0,
        "processes",
      ),
    );
  } finally {
    for (const id of ids) await dispatcher.pause(id);
    const runtime = findHomeRuntimeDir(home);
    if (runtime) removeRuntimeDir(runtime);
  }
  return rows;
}

/** A session whose command is running. */
async function running(dispatcher: Dispatcher, repo: string): Promise<string> {
  const spec: TaskSpec = {
    agent: { adapter: "exec", command: ["sleep", "3600"], input: "nothing", restart: false },
    definition: "exec:sleep",
    sandbox: true,
  };
  const { id } = await dispatcher.begin({ repo }, spec);
  while ((await dispatcher.show(id)).status !== "running") await sleep(10);
  return id;
}

function processesOf(home: string, ids: readonly string[]): number[] {
  return ids.flatMap((id) => readProcessRecord(join(home, "sessions", id))?.pid ?? []);
}

async function messageMs(dispatcher: Dispatcher, ids: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let number = 0; number < MESSAGES; number += 1) {
    const id = ids[number % ids.length] ?? "";
    const { records } = await dispatcher.show(id);
    const stop = new AbortController();
    // Follows the session as a program would: by its bell.
    const following = dispatcher.follow(id, { fromSeq: records + 1, request: null, signal: stop.signal });
    const received = (async () => {
      for await (const happening of following)
        if (happening.kind === "record" && happening.record.type === "message_received")
          return performance.now();
      return Number.NaN;
    })();
    await sleep(50);
    const startMs = performance.now();
    await dispatcher.send(id, `message ${number}`);
    times.push((await received) - startMs);
    stop.abort();
  }
  return median(times.slice(5));
}

function memoryMb(pid: number, file: string, field: string): number {
  const text = readFileSync(`/proc/${pid}/${file}`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
}

async function makeRepo(dir: string): Promise<void> {
  for (let folder = 0; folder < 20; folder += 1) {
    mkdirSync(join(dir, `d${folder}`), { recursive: true });
    for (let file = 0; file < FILES / 20; file += 1)
      writeFileSync(join(dir, `d${folder}`, `f${file}.txt`), `${folder} ${file}\n`);
  }
  const git = (...args: string[]) => run(["git", ...args], dir, process.env);
  await git("init", "-q", "-b", "main");
  await git("add", "-A");
  await git("-c", "user.name=Bench", "-c", "user.email=bench@localhost", "commit", "-qm", "begin");
}

async function run(argv: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, { cwd, env, stdio: "ignore" });
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`${argv.join(" ")}: ${status}`);
}

const ms = (value: number) => `${value.toFixed(1)} ms`;
