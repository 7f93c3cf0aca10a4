/**
 * Owns how a session becomes visible: it is built aside, in `staging/`, and renamed into `sessions/` whole.
 * A crash leaves a directory in staging, named after the process that made it, which gc collects.
 */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, type SessionId } from "../contract/index.ts";
import { blobsDir, journalDir } from "../journal/index.ts";
import { errorCode } from "../util/index.ts";
import { type Home, sessionDirOf, sessionsDir, stagingDir } from "./home.ts";

/** Long after this nobody is still building. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** Hands `build` an empty session directory; what it makes is there as a whole, or not at all. */
export async function stageSession(
  home: Home,
  id: SessionId,
  build: (dir: string) => Promise<void>,
): Promise<string> {
  const { disk } = home.ports;
  const final = sessionDirOf(home, id);
  if (existsSync(final)) throw duplicate(id);
  const staged = join(stagingDir(home), `${process.pid}-${home.newId("stage")}`);
  await disk.mkdir(staged);
  try {
    await disk.mkdir(journalDir(staged));
    await disk.mkdir(blobsDir(staged));
    await build(staged);
    await disk.syncDir(staged);
    await disk.rename(staged, final);
  } catch (error) {
    await disk.removeTree(staged).catch(() => {});
    throw ["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "") ? duplicate(id) : error;
  }
  await disk.syncDir(sessionsDir(home));
  return final;
}

/** Staging directories whose maker is gone. */
export async function abandonedStages(home: Home): Promise<string[]> {
  const abandoned: string[] = [];
  for (const name of await readdir(stagingDir(home))) {
    const path = join(stagingDir(home), name);
    const pid = Number(/^(\d+)-/.exec(name)?.[1] ?? 0);
    const { mtimeMs } = await stat(path);
    if (!isRunning(pid) || home.ports.clock.nowMs() - mtimeMs > ABANDONED_MS) abandoned.push(path);
  }
  return abandoned;
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function duplicate(id: SessionId): HoldfastError {
  return new HoldfastError("duplicate_session", `session ${id} is in this home already`, { session: id });
}
