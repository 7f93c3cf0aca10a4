/**
 * Owns the starting of our own long-lived programs: a session process, and a dispatcher that looks once. Each is
 * detached, in a process group and session of its own, with an environment that holds nothing of its starter's.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { HoldfastError, type SessionId } from "../contract/index.ts";
import { type Home, sessionDirOf } from "../home/index.ts";
import { ring } from "../mail/index.ts";
import { baseEnvironment, startDetached, USER_HOME, userHome } from "../process/index.ts";
import { present, readTextOr } from "../util/index.ts";
import { logDir } from "./frames.ts";
import { readServeRecord } from "./serve-record.ts";

const HOST_LOG = "host.log";
/** A session process mostly waits for its command: its heap need not be ready for more. */
const SMALL_HEAP = ["--max-semi-space-size=1", "--v8-pool-size=1"];

export interface StartOptions {
  /** Who saw that it had crashed, if that was no person. */
  readonly by?: string;
}

/** The session may be about to be opened: its process waits for it, and for whoever owns it meanwhile. */
export async function startHost(home: Home, id: SessionId, options: StartOptions = {}): Promise<number> {
  const own = hostDir(sessionDirOf(home, id));
  const log = openSync(firstLogPath(home, id), "w", 0o600);
  try {
    const env = baseEnvironment({
      HOME: join(own, "home"),
      TMPDIR: join(own, "tmp"),
      [USER_HOME]: userHome(),
      ...runtimeEnvironment(home),
    });
    const args = [entryPath("host"), home.dir, id, JSON.stringify(options)];
    return await startDetached([process.execPath, ...SMALL_HEAP, ...args], { env, logFd: log });
  } finally {
    closeSync(log);
  }
}

const hostDir = (sessionDir: string) => join(sessionDir, "host");
/** Until the session is there, and the log has a place in it. */
const firstLogPath = (home: Home, id: SessionId) => join(home.dir, "staging", `host-${id}.log`);

/** In the session process, when it has the session: its own directory, HOME, TMPDIR and log. */
export function settleIn(home: Home, id: SessionId): void {
  const sessionDir = sessionDirOf(home, id);
  const own = hostDir(sessionDir);
  for (const path of [logDir(sessionDir), own, join(own, "home"), join(own, "tmp")])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const path = hostLogPath(sessionDir);
  if (existsSync(path) && statSync(path).size > 0) renameSync(path, `${path}.1`);
  if (existsSync(firstLogPath(home, id))) renameSync(firstLogPath(home, id), path);
  process.chdir(own);
}

/** The last thing that a session process said. */
export function lastWords(home: Home, id: SessionId): string | undefined {
  const first = readTextOr(firstLogPath(home, id), "");
  const text = first || readTextOr(hostLogPath(sessionDirOf(home, id)), "");
  return text.trim().split("\n").at(-1) || undefined;
}

/** What becomes of a session process is said in its log. */
const hostLogPath = (sessionDir: string) => join(logDir(sessionDir), HOST_LOG);

/** Calls for somebody who fetches what lies in outboxes and starts what waits in line. */
export function callDispatcher(home: Home): void {
  isWanted = true;
  calling ??= call(home);
}

/** Resolves when everybody who was called for has been started. */
export async function dispatcherCalled(): Promise<void> {
  await calling;
}

const CALL_REST_MS = 250;
const CALL_REST_MAX_MS = 2000;
let isWanted = false;
let calling: Promise<void> | undefined;

/** Not for each of many: one that is called after a while finds them all. */
async function call(home: Home): Promise<void> {
  for (let restMs = CALL_REST_MS; isWanted; restMs = Math.min(2 * restMs, CALL_REST_MAX_MS)) {
    isWanted = false;
    await startDispatcher(home).catch(() => {});
    await sleep(restMs);
  }
  calling = undefined;
}

async function startDispatcher(home: Home): Promise<void> {
  const serving = readServeRecord(home.dir);
  if (serving && (await ring(serving.bell))) return;
  const env = baseEnvironment({ HOME: userHome(), [USER_HOME]: userHome(), ...runtimeEnvironment(home) });
  // What goes wrong there stands in the log of the one who called.
  await startDetached([process.execPath, entryPath("dispatch"), home.dir], { env, logFd: 2 });
}

/** Where compiled code is kept, because a start is mostly compiling; and how little a process needs that mostly waits. */
function runtimeEnvironment(home: Home): Record<string, string> {
  return {
    NODE_COMPILE_CACHE: join(home.dir, "cache"),
    // Whose repos root may use who came by sudo.
    ...present({ SUDO_UID: process.env["SUDO_UID"] }),
    // Few threads, and no memory set aside for each.
    MALLOC_ARENA_MAX: "1",
    UV_THREADPOOL_SIZE: "2",
  };
}

/** Beside us: in the sources, in the bundle of the command, or in that of the library. */
function entryPath(program: "host" | "dispatch"): string {
  const here = fileURLToPath(import.meta.url);
  for (let dir = dirname(here), up = 0; up < 3; dir = dirname(dir), up += 1) {
    const path = join(dir, program, `main${extname(here)}`);
    if (existsSync(path)) return path;
  }
  throw new HoldfastError("start_failed", `the program ${program} is not part of this installation`);
}
