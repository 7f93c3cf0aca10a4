/**
 * A home whose sessions have session processes: those of the built program, as a user has them. None outlives
 * its test.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExecSpec, TaskSpec } from "../../src/contract/task-spec.ts";
import { readProcessRecord } from "../../src/home/index.ts";
import { isAlive, signalIfThere } from "../../src/util/index.ts";
import { hasSandbox } from "./capsules.ts";
import { cliPath, runCli } from "./cli.ts";
import { TaskHome } from "./tasks.ts";

const library = join(import.meta.dirname, "..", "..", "dist", "dispatch", "index.js");
export const { Dispatcher } = (await import(library)) as typeof import("../../src/dispatch/index.ts");
export type Dispatcher = Awaited<ReturnType<typeof Dispatcher.open>>;

export type ScriptOptions = Partial<Omit<TaskSpec, "agent"> & Pick<ExecSpec, "input" | "restart">>;

/** A shell script as a task. */
export function script(
  text: string,
  { input = "nothing", restart = false, ...options }: ScriptOptions = {},
): TaskSpec {
  return {
    agent: { adapter: "exec", command: ["sh", "-c", text], input, restart },
    definition: "exec:sh",
    sandbox: hasSandbox,
    ...options,
  };
}

const fixtures = join(import.meta.dirname, "..", "fixtures");

/**
 * An agent of test/fixtures, as a task. It was put into the repo, because a sandbox may not show the tests'
 * directory.
 */
export function agent(name: string, options: ScriptOptions = {}, args = ""): TaskSpec {
  return script(`exec node ${name} ${args}`, options);
}

const agents = Object.fromEntries(
  ["message-loop.mjs", "flood-outbox.mjs"].map((name) => [name, readFileSync(join(fixtures, name), "utf8")]),
);

/** The homes of the running test, which `until` describes when it fails. */
const alive = new Set<HostHome>();

export class HostHome extends TaskHome {
  constructor(files: Record<string, string> = { "a.txt": "one\n" }) {
    super({ ...agents, ...files });
    alive.add(this);
  }

  /** The state of each session, for the message of a failure. */
  async describe(): Promise<string> {
    const dispatcher = await this.dispatcher();
    const lines = dispatcher.sessionIds().map(async (id) => {
      const types = await happened(dispatcher, id).catch((error: unknown) => [String(error)]);
      const mail = ["inbox", "outbox"].map((box) => `${box} ${namesIn(this.sessionDir(id, box, "new"))}`);
      const log = readOr(this.sessionDir(id, "log", "host.log"))
        .trim()
        .split("\n")
        .slice(-3)
        .join(" | ");
      return `${id} process ${this.hostPid(id)}, ${mail.join(", ")}, log: ${log}\n  ${types.slice(-SHOWN_RECORDS).join(" ")}`;
    });
    return (await Promise.all(lines)).join("\n");
  }

  dispatcher(): Promise<Dispatcher> {
    return Dispatcher.open({ home: this.dir });
  }

  /** Holdfast's processes for this home: session processes, dispatchers, brokers, `serve`. */
  processes(): number[] {
    return allPids().filter((pid) => {
      if (!isAlive({ pid, startTicks: null })) return false;
      const words = readOr(`/proc/${pid}/cmdline`).split("\0");
      return (
        words.some((word) => /\/(host|dispatch|cli|broker)\/main\.(js|ts)$/.test(word)) &&
        this.#isMine(pid, words)
      );
    });
  }

  /** Resolves when none of these is left: a dispatcher may still run for a moment. */
  async quiet(): Promise<void> {
    await until(
      () => this.processes(),
      (pids) => pids.length === 0,
    );
  }

  #isMine(pid: number, words: readonly string[]): boolean {
    return words.includes(this.dir) || readOr(`/proc/${pid}/environ`).includes(`HOLDFAST_HOME=${this.dir}\0`);
  }

  async cli(...args: string[]) {
    return runCli(this.dir, args);
  }

  /** With variables in the caller's environment. */
  async cliWith(env: NodeJS.ProcessEnv, ...args: string[]) {
    return runCli(this.dir, args, env);
  }

  /** Starts a verb, and does not wait for its end. */
  spawnCli(
    args: readonly string[],
    options: { cwd?: string; detached?: boolean; env?: NodeJS.ProcessEnv } = {},
  ) {
    return spawn(process.execPath, [cliPath, ...args], {
      cwd: options.cwd ?? this.main,
      detached: options.detached ?? false,
      env: { ...process.env, HOLDFAST_HOME: this.dir, NO_COLOR: "1", ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
  }

  hostPid(id: string): number | undefined {
    return readProcessRecord(this.sessionDir(id))?.pid;
  }

  override [Symbol.dispose](): void {
    alive.delete(this);
    // A killed process may write until it is gone.
    for (let left = this.processes(); left.length > 0; left = this.processes()) {
      for (const pid of left) signalIfThere(pid, "SIGKILL");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
    super[Symbol.dispose]();
  }
}

/** Waits until a value is as wanted; fails with the value that it still is when it takes too long. */
export async function until<T>(
  look: () => T | Promise<T>,
  isIt: (value: T) => boolean = Boolean,
  timeoutMs = 60_000,
): Promise<T> {
  for (const deadlineMs = performance.now() + timeoutMs; ; await sleep(10)) {
    const value = await look();
    if (isIt(value)) return value;
    if (performance.now() <= deadlineMs) continue;
    const seen = await Promise.all([...alive].map((home) => home.describe()));
    throw new Error(`it is still ${JSON.stringify(value)}\n${seen.join("\n")}`);
  }
}

/** Waits until a session has a status. */
export function reaches(dispatcher: Dispatcher, id: string, wanted: string) {
  return until(
    () => dispatcher.show(id),
    ({ status }) => status === wanted,
  );
}

/** Waits until a session is shown as wanted. */
export function shown(
  dispatcher: Dispatcher,
  id: string,
  isIt: (one: Awaited<ReturnType<Dispatcher["show"]>>) => boolean,
) {
  return until(() => dispatcher.show(id), isIt);
}

const SHOWN_RECORDS = 40;

/** What was recorded, with the reason of each refusal, and how each process ended. */
async function happened(dispatcher: Dispatcher, id: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { type, data } of dispatcher.holdfast.readJournal(id)) {
    const why = data["reason"] ?? data["signal"] ?? data["exitCode"] ?? undefined;
    found.push(why === undefined ? type : `${type} (${why})`);
  }
  return found;
}

export async function typesOf(dispatcher: Dispatcher, id: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of dispatcher.holdfast.readJournal(id)) types.push(type);
  return types;
}

function allPids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function namesIn(dir: string): string {
  return existsSync(dir) ? readdirSync(dir).slice(0, 5).join(" ") || "empty" : "empty";
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
