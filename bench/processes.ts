/**
 * Benches of session processes: a whole task against a bare start of Node, what an idle one costs, and how long a
 * message takes.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { readProcessRecord } from "../src/host/index.ts";
import type { TaskSpec } from "../src/index.ts";
import { findHomeRuntimeDir, removeRuntimeDir } from "../src/mail/index.ts";
import { atMost, compared, inTurns, median, type Row } from "./measure.ts";

const dist = join(import.meta.dirname, "..", "dist");
const cli = join(dist, "cli", "main.js");
const FILES = 1000;
const MANY = 50;
const MESSAGES = 60;

const { Dispatcher } = (await import(join(dist, "index.js"))) as typeof import("../src/index.ts");
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
    progress("one session process");
    ids.push(await idle(dispatcher, repo));
    const alone = await messageMs(dispatcher, ids);
    progress(`${MANY} session processes`);
    while (ids.length < MANY) ids.push(await idle(dispatcher, repo));
    await sleep(2000);
    const pids = ids.map((id) => readProcessRecord(join(home, "sessions", id))?.pid ?? 0);
    const before = pids.map(cpuTicks);
    await sleep(10_000);
    const ticks = pids.map((pid, index) => cpuTicks(pid) - (before[index] ?? 0));
    const pss = median(pids.map((pid) => memoryMb(pid, "smaps_rollup", "Pss")));
    const rss = median(pids.map((pid) => memoryMb(pid, "status", "VmRSS")));
    const first = await messageMs(dispatcher, ids);
    const among = await messageMs(dispatcher, ids.slice(0, 1));
    rows.push(
      atMost(`idle session process: PSS with ${MANY} alive`, `${pss.toFixed(1)} MB`, pss, 15, "MB"),
      atMost("idle session process: RSS", `${rss.toFixed(1)} MB`, rss, 60, "MB"),
      atMost(
        `idle session process: CPU of all ${MANY} in 10 s`,
        `${ticks.reduce((sum, one) => sum + one, 0)} ticks of 10 ms`,
        ticks.reduce((sum, one) => sum + one, 0),
        1,
        "ticks",
      ),
      atMost(
        `send to message_received, p50, the first to each of ${MANY} that wait`,
        ms(first),
        first,
        30,
        "ms",
      ),
      atMost(
        `the same to one of ${MANY}, again and again, against one that is alone`,
        `${ms(among)} : ${ms(alone)}`,
        among / alone,
        2,
      ),
    );
    await dispatcher.pause(ids[0] ?? "");
    const isGone = readProcessRecord(join(home, "sessions", ids[0] ?? "")) === undefined;
    rows.push(compared("processes of a paused session", isGone ? "none" : "one", isGone ? 0 : 1));
  } finally {
    for (const id of ids.slice(1)) await dispatcher.pause(id);
    const runtime = findHomeRuntimeDir(home);
    if (runtime) removeRuntimeDir(runtime);
  }
  return rows;
}

/** A session whose task is done, and whose process waits for more. */
async function idle(dispatcher: Dispatcher, repo: string): Promise<string> {
  const spec: TaskSpec = {
    command: ["true"],
    definition: "exec:true",
    sandbox: true,
    input: "nothing",
    restart: false,
    idlePauseMs: 600_000,
  };
  const { id } = await dispatcher.begin({ repo }, spec);
  while ((await dispatcher.show(id)).task?.outcome !== "done") await sleep(10);
  return id;
}

async function messageMs(dispatcher: Dispatcher, ids: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let number = 0; number < MESSAGES; number += 1) {
    const id = ids[number % ids.length] ?? "";
    const { records } = await dispatcher.show(id);
    const stop = new AbortController();
    // Looking on as a program would: by its bell.
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

function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
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
