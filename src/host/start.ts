/**
 * Owns the starting of a session process: detached, in a process group and session of its own, with an environment
 * that holds nothing of its starter's but where programs are.
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

/** Its process waits for a session that is yet to be opened, and for one that another process still has. */
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

/** Until the session is there, and the log has a place in it. */
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

/** The last thing that a session process said. */
export function lastWords(home: Home, id: SessionId): string | undefined {
  const first = readTextOr(firstLogPath(home, id), "");
  const text = first || readTextOr(hostLogPath(sessionDirOf(home, id)), "");
  return text.trim().split("\n").at(-1) || undefined;
}

/** What becomes of a session process is said in its log. */
const hostLogPath = (sessionDir: string) => join(logDir(sessionDir), HOST_LOG);

/** With what a lean process needs goes where the user's tools are, for its tasks, and what leads to keys, for a broker. */
export function runtimeEnvironment(home: Home): Record<string, string> {
  return {
    ...toolVariables(process.env),
    ...keeperVariables(process.env),
    ...leanVariables(home.dir),
    // Whose repos root may use who came by sudo.
    ...present({ SUDO_UID: process.env["SUDO_UID"] }),
  };
}
