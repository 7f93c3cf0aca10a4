/**
 * Owns starting a session process: detached, in a process group and session of its own, with an environment
 * that keeps nothing of its starter's except where programs are.
 */
import { closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { keeperVariables } from "../broker/index.ts";
import type { SessionId } from "../contract/index.ts";
import { type Home, sessionDirOf } from "../home/index.ts";
import {
  baseEnvironment,
  ownProgram,
  SMALL_HEAP,
  startConnected,
  toolVariables,
  USER_HOME,
  userHome,
} from "../process/index.ts";
import { logDir, present, processDir, readTextOr, stagingDir } from "../util/index.ts";
import { leanVariables } from "./early.ts";
import { StartedProcess, type StartOptions } from "./handover.ts";
import { takeSpare } from "./spare.ts";

const HOST_LOG = "host.log";

/** Its process waits for a session that is still to be opened, or that another process still has. */
export async function startHost(home: Home, id: SessionId, options: StartOptions): Promise<StartedProcess> {
  const own = processDir(sessionDirOf(home, id));
  const env = baseEnvironment({
    HOME: join(own, "home"),
    TMPDIR: join(own, "tmp"),
    [USER_HOME]: userHome(),
    ...runtimeEnvironment(home),
  });
  const spare = await takeSpare(home.dir, firstLogPath(home, id));
  if (spare) return StartedProcess.given(spare, { session: id, options, env });
  const log = openSync(firstLogPath(home, id), "w", 0o600);
  try {
    const args = [ownProgram("host"), home.dir, id, JSON.stringify(options)];
    const argv = [process.execPath, ...SMALL_HEAP, ...args];
    return new StartedProcess(await startConnected(argv, { env, logFd: log }));
  } finally {
    closeSync(log);
  }
}

/** Used until the session exists, and the log has a place in it. */
const firstLogPath = (home: Home, id: SessionId) => join(stagingDir(home.dir), `host-${id}.log`);

/** In the session process, when it has the session: its own directory, HOME, TMPDIR and log. */
export function settleIn(home: Home, id: SessionId): void {
  const sessionDir = sessionDirOf(home, id);
  const own = processDir(sessionDir);
  for (const path of [logDir(sessionDir), own, join(own, "home"), join(own, "tmp")])
    mkdirSync(path, { recursive: true, mode: 0o700 });
  const path = hostLogPath(sessionDir);
  if (existsSync(path) && statSync(path).size > 0) renameSync(path, `${path}.1`);
  if (existsSync(firstLogPath(home, id))) renameSync(firstLogPath(home, id), path);
  process.chdir(own);
}

/** The last text that a session process wrote. */
export function lastWords(home: Home, id: SessionId): string | undefined {
  const first = readTextOr(firstLogPath(home, id), "");
  const text = first || readTextOr(hostLogPath(sessionDirOf(home, id)), "");
  return text.trim().split("\n").at(-1) || undefined;
}

/** What happens to a session process is written to its log. */
const hostLogPath = (sessionDir: string) => join(logDir(sessionDir), HOST_LOG);

/**
 * Beside what a small process needs, it gets the location of the user's tools, for its tasks, and what leads
 * to keys, for a broker.
 */
export function runtimeEnvironment(home: Home): Record<string, string> {
  return {
    ...toolVariables(process.env),
    ...keeperVariables(process.env),
    ...leanVariables(home.dir),
    // Root that came by sudo may use repos of this user.
    ...present({ SUDO_UID: process.env["SUDO_UID"] }),
  };
}
