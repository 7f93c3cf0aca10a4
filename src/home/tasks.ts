/**
 * Owns the way from a session's id to its task: who owns the session meanwhile, which repo it works on, and
 * that its files and its history are always of the same moment.
 */
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  adoptSnapshots,
  type CapsulePorts,
  type DiffStat,
  dropSnapshots,
  hasSnapshot,
  makeAside,
  moveToTrash,
  openRepo,
  openStore,
  type Repo,
  statOf,
  sweepTrash,
  writePatch,
} from "../capsule/index.ts";
import { type EventType, HoldfastError } from "../contract/index.ts";
import { readDurable } from "../journal/index.ts";
import { Maildir } from "../mail/index.ts";
import {
  emptyState,
  fold,
  inspectSession,
  lastTurnOf,
  nextStatus,
  Session,
  type SessionState,
} from "../session/index.ts";
import {
  type Branched,
  type BranchOptions,
  branchCommits,
  branchWork,
  bringHome,
  currentLimits,
  encodeHomes,
  finishRewind,
  type HandOff,
  HOMES_FILE,
  handOff,
  lacksHome,
  openCapsule,
  type Receipt,
  type Restored,
  type Returned,
  type Rewound,
  type Room,
  readHomes,
  restore,
  rewind,
  type TakeBackOptions,
  Task,
  type TaskOptions,
  type TeardownOptions,
  takeBack,
  takeCheckpoint,
  tearDown,
  workAgain,
} from "../task/index.ts";
import { createFile, type Disk } from "../util/index.ts";
import { type FoundSession, findSession, type Home, sessionDirOf, trashDir } from "./home.ts";
import { locatingDamage } from "./snapshot-damage.ts";

export function capsulePorts(home: Home): CapsulePorts {
  return { homeDir: home.dir, disk: home.ports.disk, clock: home.ports.clock };
}

export async function repoOf(home: Home, { id, repo }: Pick<SessionState, "id" | "repo">): Promise<Repo> {
  if (repo === null) throw new HoldfastError("no_repo", `session ${id} has no repo`, { session: id });
  return openRepo(home, repo);
}

export async function roomOf(home: Home, session: Session): Promise<Room> {
  return {
    ports: capsulePorts(home),
    session,
    sessionDir: sessionDirOf(home, session.id),
    trashDir: trashDir(home),
    repo: await repoOf(home, { id: session.id, repo: session.state.repo }),
  };
}

/** The session's owner for as long as `work` takes; its status stays as it is. */
async function asOwner<T>(
  home: Home,
  { id, dir }: FoundSession,
  work: (room: Room) => Promise<T>,
  check?: (state: SessionState) => void,
): Promise<T> {
  const session = await Session.own({
    sessionDir: dir,
    id,
    ports: home.ports,
    ...(check && { admit: check }),
  });
  let room: Room | undefined;
  try {
    const owned = await roomOf(home, session);
    room = owned;
    return await locatingDamage(home, { id, dir, repo: session.state.repo }, () => work(owned));
  } catch (error) {
    // What it had begun to use is put to rest.
    if (room)
      await openCapsule(room)
        .then((capsule) => capsule?.detach())
        .catch(() => {});
    throw error;
  } finally {
    await session.release();
    await sweepTrash(trashDir(home));
  }
}

/** A new task in a session that is open. */
export async function startTask(home: Home, session: Session, options: TaskOptions = {}): Promise<Task> {
  const room = await roomOf(home, session);
  return locatingDamage(home, keeperOf(home, session), () => Task.start(room, options));
}

/** As `locatingDamage` wants to know it. */
export function keeperOf(home: Home, { id, state }: Session) {
  return { id, dir: sessionDirOf(home, id), repo: state.repo };
}

/** A session that was opened for a task that could not be started, and never did anything: as if it had not been. */
export async function discardUnused(home: Home, session: Session): Promise<boolean> {
  const { task, turns, unread, queue, parent } = session.state;
  if (task || parent || turns > 0 || unread.length > 0 || queue.length > 0) return false;
  for (const name of ["inbox", "outbox"]) {
    const mail = new Maildir(home.ports.disk, join(sessionDirOf(home, session.id), name));
    if ((await mail.waiting()).length > 0) return false;
  }
  await discard(home, session);
  return true;
}

/** The task that an open session is at: for turns after a resume. */
export async function currentTask(
  home: Home,
  session: Session,
  options: Pick<TaskOptions, "sandbox"> = {},
): Promise<Task> {
  return Task.current(await roomOf(home, session), options);
}

/** Files that a session is without: those of its last checkpoint, unless its capsule is there. */
export async function bringFiles(home: Home, session: Session): Promise<Restored | undefined> {
  // Imported without a repo: its files are kept aside, its history goes on.
  if (!session.state.task || session.state.repo === null) return undefined;
  const isRewound = session.state.task.capsule === "rewound";
  if (isRewound || lacksHome(session, sessionDirOf(home, session.id))) {
    const room = await roomOf(home, session);
    await bringHome(room);
    await finishRewind(room);
  }
  const { task } = session.state;
  if (task.snapshot === null && task.capsule !== "there") return undefined;
  const room = await roomOf(home, session);
  const capsule = await openCapsule(room);
  if (!capsule)
    return task.snapshot ? locatingDamage(home, keeperOf(home, session), () => restore(room)) : undefined;
  if (task.capsule !== "there")
    await session.append("capsule_restored", { task: task.number, snapshot: task.snapshot?.commit ?? "" });
  return undefined;
}

/** Before a pause or a close: the files are in a checkpoint, and nothing of the task runs. */
export async function restFiles(home: Home, session: Session): Promise<void> {
  const { task, repo } = session.state;
  if (task?.capsule !== "there" || repo === null || !existsSync(repo)) return;
  const room = await roomOf(home, session);
  const capsule = await openCapsule(room);
  if (!capsule) return;
  // What still runs could write after the snapshot.
  await capsule.detach();
  try {
    const { snapshot } = await locatingDamage(home, keeperOf(home, session), async () =>
      takeCheckpoint(room, capsule, await currentLimits(room)),
    );
    await capsule.settle(snapshot);
  } finally {
    await capsule.detach();
  }
}

/** What a fork stands on must be there before the fork is. */
export async function assertForkable(home: Home, { repo, id, task }: SessionState): Promise<void> {
  if (!task?.snapshot || repo === null) return;
  const store = await openStore(await repoOf(home, { id, repo }), home.ports.disk);
  if (!(await hasSnapshot(store, task.snapshot.commit)))
    throw new HoldfastError("snapshot_invalid", `snapshot ${task.snapshot.commit} is not in the store`, {
      snapshot: task.snapshot.commit,
    });
}

/** Before the fork is there: from then on it needs them, whatever becomes of its parent. */
export async function adoptFiles(
  home: Home,
  { repo, task }: SessionState,
  parent: string,
  child: string,
): Promise<void> {
  if (!task?.snapshot || repo === null) return;
  await adoptSnapshots(await openStore(await openRepo(home, repo), home.ports.disk), parent, child);
}

/** What its parent had of HOME from elsewhere, a fork has by the same names. */
export async function inheritHomes(disk: Disk, parentDir: string, dir: string): Promise<void> {
  const homes = await readHomes(parentDir);
  if (homes.size > 0) await createFile(disk, join(dir, HOMES_FILE), encodeHomes(homes));
}

export async function forkFiles(home: Home, child: Session): Promise<void> {
  if (!child.state.task?.snapshot || child.state.repo === null) return;
  await restore(await roomOf(home, child));
}

/** One whose files can't be made. Its id was never given out. */
export async function discardFork(home: Home, child: Session): Promise<void> {
  const { repo } = child.state;
  if (repo !== null)
    await dropSnapshots(await openStore(await openRepo(home, repo), home.ports.disk), child.id);
  await discard(home, child);
}

async function discard(home: Home, session: Session): Promise<void> {
  const dir = sessionDirOf(home, session.id);
  await session.release(() => moveToTrash(home.ports.disk, trashDir(home), dir, `${session.id}-unused`));
  await sweepTrash(trashDir(home));
}

const assertAllows = (type: EventType, what: string) => (state: SessionState) => {
  if (nextStatus(state.status, type) !== undefined) return;
  const { status } = state;
  throw new HoldfastError(
    "illegal_transition",
    `the files of a session that is ${status} can't be ${what}: resume it first`,
    {
      status,
    },
  );
};

export async function tearDownSession(
  home: Home,
  idText: string,
  user: string | undefined,
  options: TeardownOptions,
): Promise<Receipt> {
  const found = await findSession(home, idText, user);
  return asOwner(
    home,
    found,
    (room) => tearDown(room, options),
    assertAllows("capsule_torn_down", "torn down"),
  );
}

export async function restoreSession(home: Home, idText: string, user?: string): Promise<Restored> {
  const found = await findSession(home, idText, user);
  return asOwner(home, found, (room) => restore(room), assertAllows("capsule_restored", "restored"));
}

/** Its work, or the agent's own commits, become a branch of the user's repo. */
export async function branchSession(
  home: Home,
  idText: string,
  user: string | undefined,
  { commits, ...options }: BranchOptions & { readonly commits?: boolean | string },
): Promise<Branched> {
  const found = await findSession(home, idText, user);
  const ofBranch = typeof commits === "string" ? commits : undefined;
  return asOwner(
    home,
    found,
    (room) => (commits ? branchCommits(room, ofBranch) : branchWork(room, options)),
    assertAllows("work_published", "published"),
  );
}

export async function rewindSession(
  home: Home,
  idText: string,
  user: string | undefined,
  toTurn: number,
): Promise<Rewound> {
  const found = await findSession(home, idText, user);
  const there = await stateAfterTurn(found.dir, toTurn);
  return asOwner(home, found, (room) => rewind(room, there), assertAllows("session_rewound", "rewound"));
}

/** The last one that the session had at the end of a turn, also of a turn that was left behind since. */
async function stateAfterTurn(dir: string, toTurn: number): Promise<SessionState> {
  let state = emptyState;
  let found: SessionState | undefined;
  for await (const { record } of readDurable(dir)) {
    state = fold(state, record);
    // A task that has only begun has no checkpoint yet: its files are those of the one before.
    const isWhole = !state.openTurn && state.task?.snapshot !== null;
    if (lastTurnOf(state) === toTurn && isWhole) found = state;
  }
  if (!found)
    throw new HoldfastError(
      "turn_not_found",
      `there is no turn ${toTurn} to go back to; the last that began is ${state.turns}`,
    );
  return found;
}

export async function handOffSession(
  home: Home,
  idText: string,
  user: string | undefined,
  options: { to: string; directory?: string },
): Promise<HandOff> {
  return asOwner(
    home,
    await findSession(home, idText, user),
    (room) => handOff(room, options),
    ({ status, handoff }) => {
      if (status === "handed_off")
        throw new HoldfastError("handoff_open", `${handoff?.to} has the session, in ${handoff?.directory}`, {
          directory: handoff?.directory,
        });
      if (status === "closed" || status === "archived")
        throw new HoldfastError(
          "illegal_transition",
          `a session that is ${status} can't be handed over: resume it first`,
          { status },
        );
    },
  );
}

export async function takeBackSession(
  home: Home,
  idText: string,
  user: string | undefined,
  options: TakeBackOptions,
): Promise<Returned> {
  return asOwner(
    home,
    await findSession(home, idText, user),
    async (room) => {
      const returned = await takeBack(room, options);
      await room.session.pause();
      return returned;
    },
    ({ status }) => {
      if (status !== "handed_off")
        throw new HoldfastError("illegal_transition", `the session is ${status}: nobody was given it`, {
          status,
        });
    },
  );
}

export interface Diff {
  readonly patch: Buffer;
  readonly stat: DiffStat;
  readonly base: string | null;
  readonly tree: string;
  readonly turn: number;
}

/** Of the last checkpoint. Needs no owner: it looks at the store alone. */
export async function diffSession(home: Home, idText: string, user?: string): Promise<Diff> {
  const found = await findSession(home, idText, user);
  const { state } = await inspectSession(found.dir);
  return locatingDamage(home, { ...found, repo: state.repo }, () => diffOf(home, found, state));
}

async function diffOf(home: Home, found: FoundSession, state: SessionState): Promise<Diff> {
  const { task } = state;
  if (!task?.snapshot)
    throw new HoldfastError("no_snapshot", `session ${found.id} has no checkpoint with files`, {
      session: found.id,
    });
  const repo = await repoOf(home, state);
  const store = await openStore(repo, home.ports.disk);
  const work = await workAgain({ repo, id: found.id }, store, task.snapshot);
  const aside = await makeAside(store);
  const path = join(aside, "patch");
  try {
    await writePatch(repo, store, task.base, work, path);
    return {
      patch: await readFile(path),
      stat: await statOf(repo, store, task.base, work),
      base: task.base,
      tree: work.tree,
      turn: task.snapshot.turn,
    };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
