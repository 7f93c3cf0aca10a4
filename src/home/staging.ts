/**
 * Owns how a session becomes visible: it is built aside, in `staging/`, and renamed into `sessions/` whole.
 * A crash leaves a directory in staging, named after the process that made it, which gc collects.
 */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, type SessionId } from "../contract/index.ts";
import { blobsDir, encodeWitness, type JournalPorts, journalDir, WITNESS_FILE } from "../journal/index.ts";
import {
  encodeManifest,
  MANIFEST_FILE,
  type Manifest,
  type Session,
  type SessionState,
} from "../session/index.ts";
import { createFile, deferSyncs, errorCode, isDiskFull } from "../util/index.ts";
import { type Home, sessionDirOf, sessionsDir, stagingDir } from "./home.ts";

/** Long after this nobody is still building. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/**
 * Hands `build` an empty session directory and takes the session that it owns there; what it made is there as
 * a whole, or not at all, and has its owner from the first moment.
 */
export async function stageSession(
  home: Home,
  id: SessionId,
  build: (dir: string, ports: JournalPorts) => Promise<Session>,
): Promise<Session> {
  const disk = deferSyncs(home.ports.disk);
  const final = sessionDirOf(home, id);
  if (existsSync(final)) throw duplicate(id);
  const staged = join(stagingDir(home), `${process.pid}-${home.newId("stage")}`);
  let session: Session | undefined;
  try {
    await disk.mkdir(staged);
    await disk.mkdir(journalDir(staged));
    await disk.mkdir(blobsDir(staged));
    session = await build(staged, { ...home.ports, disk });
    const { state, position } = session;
    await createFile(disk, join(staged, MANIFEST_FILE), encodeManifest(manifestOf(state, id)));
    await createFile(disk, join(staged, WITNESS_FILE), encodeWitness({ head: position, isFinal: false }));
    await disk.syncDir(staged);
    await disk.settle();
    await disk.rename(staged, final);
    session.relocate(final);
    await disk.syncDir(sessionsDir(home));
    return session;
  } catch (error) {
    session?.abandon();
    await disk.settle().catch(() => {});
    await disk.removeTree(staged).catch(() => {});
    if (["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw duplicate(id);
    throw isDiskFull(error)
      ? new HoldfastError("disk_full", "the disk is full: the session was not made", {}, { cause: error })
      : error;
  }
}

function manifestOf({ user, agent, repo, createdAt }: SessionState, session: SessionId): Manifest {
  return { session, user, agent, repo, createdAt };
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
