/**
 * Owns how a session becomes visible: it is built in `staging/` and renamed into `sessions/` as a whole. A
 * crash leaves a directory in staging, named after the process that made it, and gc collects it.
 */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, type SessionId } from "../contract/index.ts";
import { writeWitness } from "../journal/index.ts";
import {
  encodeManifest,
  type Manifest,
  type OpenSessionOptions,
  Session,
  type SessionState,
} from "../session/index.ts";
import {
  blobsDir,
  createFile,
  type Disk,
  deferSyncs,
  errorCode,
  isAlive,
  journalDir,
  manifestPath,
  sessionsDir,
  stagingDir,
  tokenPath,
} from "../util/index.ts";
import { type Home, sessionDirOf } from "./home.ts";
import { makeToken } from "./token.ts";

const STARTING_MS = 60_000;
/** No build takes this long. If the builder's pid is in use after that, another process has it. */
const OLDEST_MS = 24 * 60 * 60 * 1000;

/** Becomes the owner of the staged session. Call it once, when what the session begins with is there. */
export type OwnStaged = (options?: Pick<OpenSessionOptions, "fold">) => Promise<Session>;

/**
 * Gives `build` an empty session directory, in which it becomes the owner and records what the session is.
 * The session appears as a whole or not at all, and has its owner from the first moment.
 */
export async function stageSession(
  home: Home,
  id: SessionId,
  build: (dir: string, own: OwnStaged, disk: Disk) => Promise<void>,
): Promise<Session> {
  const disk = deferSyncs(home.io.disk);
  const final = sessionDirOf(home, id);
  if (existsSync(final)) throw duplicate(id);
  const staged = join(stagingDir(home.dir), `${process.pid}-${home.newId("stage")}`);
  let session: Session | undefined;
  try {
    await disk.mkdir(staged);
    await disk.mkdir(journalDir(staged));
    await disk.mkdir(blobsDir(staged));
    const io = { ...home.io, disk };
    await build(
      staged,
      async (options) => {
        session = await Session.own({ sessionDir: staged, id, io, isStaged: true, ...options });
        return session;
      },
      disk,
    );
    if (!session) throw new Error("a staged session was not opened");
    await seal(disk, staged, session, id);
    await disk.settle();
    await moveIn(disk, staged, final, id);
    session.relocate(final);
    await disk.syncDir(sessionsDir(home.dir));
    return session;
  } catch (error) {
    await session?.abandon();
    await disk.settle().catch(() => {});
    await disk.removeTree(staged).catch(() => {});
    throw error;
  }
}

/** Writes manifest and witness, which complete the session. */
async function seal(disk: Disk, staged: string, session: Session, id: SessionId): Promise<void> {
  await session.settled();
  const { state, position } = session;
  await createFile(disk, manifestPath(staged), encodeManifest(manifestOf(state, id)));
  await writeWitness(disk, staged, { head: position, isFinal: false });
  await createFile(disk, tokenPath(staged), Buffer.from(`${makeToken()}\n`));
  await disk.syncDir(staged);
}

async function moveIn(disk: Disk, staged: string, final: string, id: SessionId): Promise<void> {
  try {
    await disk.rename(staged, final);
  } catch (error) {
    throw ["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "") ? duplicate(id) : error;
  }
}

function manifestOf({ user, agent, repo, createdAt }: SessionState, session: SessionId): Manifest {
  return { session, user, agent, repo, createdAt };
}

/** Staging directories whose maker has ended. */
export async function abandonedStages(home: Home): Promise<string[]> {
  const abandoned: string[] = [];
  for (const name of await readdir(stagingDir(home.dir))) {
    const path = join(stagingDir(home.dir), name);
    const pid = Number(/^(\d+)-/.exec(name)?.[1] ?? 0);
    const found = await stat(path).catch(() => undefined);
    // It was removed meanwhile, or it is the log of a session process that is starting.
    if (!found || (name.startsWith("host-") && home.io.clock.nowMs() - found.mtimeMs < STARTING_MS)) continue;
    const { mtimeMs } = found;
    if (!isAlive({ pid, startTicks: null }) || home.io.clock.nowMs() - mtimeMs > OLDEST_MS)
      abandoned.push(path);
  }
  return abandoned;
}

function duplicate(id: SessionId): HoldfastError {
  return new HoldfastError("duplicate_session", `session ${id} is already in this home`, { session: id });
}
