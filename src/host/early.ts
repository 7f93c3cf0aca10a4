/**
 * Owns the early start of a session process: before it is known which session it is for, so that it loads its
 * program while the command that needs it loads its own. It is a bundle by itself, which the command loads
 * before anything else. So it holds no state: `spare.ts` does.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { baseEnvironment, type Connected, ownProgram, SMALL_HEAP, startConnected } from "../process/index.ts";
import { cacheDir, stagingDir } from "../util/index.ts";

/** A session process that has no session yet. */
export interface Spare {
  readonly homeDir: string;
  readonly logPath: string;
  /** Undefined: it could not be started. The process is then started when it is needed. */
  readonly started: Promise<Connected | undefined>;
}

/** Stands in place of a session's id. */
export const NOT_YET = "spare";

/** For a home that exists. */
export function startSpare(homeDir: string): Spare {
  const logPath = join(stagingDir(homeDir), `host-spare-${process.pid}.log`);
  return { homeDir, logPath, started: start(homeDir, logPath).catch(() => undefined) };
}

async function start(homeDir: string, logPath: string): Promise<Connected> {
  const log = openSync(logPath, "w", 0o600);
  try {
    const argv = [process.execPath, ...SMALL_HEAP, ownProgram("host"), homeDir, NOT_YET];
    return await startConnected(argv, { env: baseEnvironment(leanVariables(homeDir)), logFd: log });
  } finally {
    closeSync(log);
  }
}

/**
 * Where compiled code is cached, because a start is mostly compiling; and settings that keep a process small
 * that mostly waits.
 */
export function leanVariables(homeDir: string): Record<string, string> {
  return {
    NODE_COMPILE_CACHE: cacheDir(homeDir),
    // Few threads, and no memory reserved for each.
    MALLOC_ARENA_MAX: "1",
    UV_THREADPOOL_SIZE: "2",
  };
}
