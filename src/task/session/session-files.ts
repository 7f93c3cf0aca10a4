/**
 * Owns what is done to a session's files by its id: tear down, restore, publish, rewind, hand off. Each owns
 * the session while it works, and leaves its status as it is.
 */
import { CapsuleDir, plainPath, sweepTrash } from "../../capsule/index.ts";
import { type EventType, HoldfastError } from "../../contract/index.ts";
import { type FoundSession, findSession, type Home } from "../../home/index.ts";
import { probeOwner, readDurable } from "../../journal/index.ts";
import {
  emptyState,
  fold,
  inspectSession,
  lastTurnOf,
  nextStatus,
  Session,
  type SessionState,
} from "../../session/index.ts";
import { capsuleDir, trashDir } from "../../util/index.ts";
import { type Rewound, rewind } from "../files/rewind.ts";
import { locatingDamage } from "../files/snapshot-damage.ts";
import { type Receipt, type Restored, restore, type TeardownOptions, tearDown } from "../files/teardown.ts";
import {
  type HandOff,
  type HandOffOptions,
  handOff,
  type Returned,
  type TakeBackOptions,
  takeBack,
} from "../handoff/handoff.ts";
import { type Branched, type BranchOptions, branchCommits, branchWork } from "../results/branch.ts";
import { type MergedWork, type MergeOptions, mergeWork } from "../results/merging.ts";
import { type Rebased, type RebaseOptions, rebaseWork } from "../results/rebasing.ts";
import { type ConflictedFiles, conflictedFiles } from "../results/resolving.ts";
import { openCapsule, type Room } from "../room/room.ts";
import { verifyWhole } from "../verify/verify-tree.ts";
import { keeperOf, roomOf } from "./tasks.ts";

/** Owns the session while `work` runs. Its status stays as it is. */
async function asOwner<T>(
  home: Home,
  { id, dir }: FoundSession,
  work: (room: Room) => Promise<T>,
  check?: (state: SessionState) => void,
): Promise<T> {
  const session = await Session.own({
    sessionDir: dir,
    id,
    io: home.io,
    ...(check && { admit: check }),
  });
  let room: Room | undefined;
  try {
    const owned = await roomOf(home, session);
    room = owned;
    return await locatingDamage(home, keeperOf(home, session), () => work(owned));
  } catch (error) {
    // Release the capsule that it had begun to use.
    if (room)
      await openCapsule(room)
        .then((capsule) => capsule?.detach())
        .catch(() => {});
    throw error;
  } finally {
    await session.release();
    await sweepTrash(trashDir(home.dir));
  }
}

const assertAllows = (type: EventType, what: string) => (state: SessionState) => {
  if (nextStatus(state.status, type) !== undefined) return;
  const { status } = state;
  throw new HoldfastError(
    "illegal_transition",
    `the session is ${status}, so its files can't be ${what}: resume it first`,
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

/** Publishes its work, or the agent's own commits, as a branch of the user's repo. */
export async function branchSession(
  home: Home,
  idText: string,
  user: string | undefined,
  { commits, ...options }: BranchOptions,
): Promise<Branched> {
  const found = await findSession(home, idText, user);
  const ofBranch = typeof commits === "string" ? commits : undefined;
  return asOwner(
    home,
    found,
    (room) => (commits ? branchCommits(room, ofBranch, options) : branchWork(room, options)),
    assertAllows("work_published", "published"),
  );
}

/** Merges its work into one of the user's branches. */
export async function mergeSession(
  home: Home,
  idText: string,
  user: string | undefined,
  options: MergeOptions,
): Promise<MergedWork> {
  const found = await findSession(home, idText, user);
  const merging = { ...options, verify: verifyWhole };
  return asOwner(home, found, (room) => mergeWork(room, merging), assertAllows("merge_started", "merged"));
}

/** Turns a conflict into files that the session's next task begins with. */
export async function giveBackConflict(
  home: Home,
  idText: string,
  user: string | undefined,
  options: Pick<MergeOptions, "into">,
): Promise<ConflictedFiles> {
  const found = await findSession(home, idText, user);
  return asOwner(
    home,
    found,
    (room) => conflictedFiles(room, options),
    assertAllows("merge_started", "merged"),
  );
}

/** Moves its branch onto one of the user's, and its files with it. */
export async function rebaseSession(
  home: Home,
  idText: string,
  user: string | undefined,
  options: RebaseOptions,
): Promise<Rebased> {
  const found = await findSession(home, idText, user);
  return asOwner(home, found, (room) => rebaseWork(room, options), assertAllows("work_published", "rebased"));
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

/** The last state at the end of this turn, even if a rewind has undone the turn since. */
async function stateAfterTurn(dir: string, toTurn: number): Promise<SessionState> {
  let state = emptyState;
  let found: SessionState | undefined;
  for await (const { record } of readDurable(dir)) {
    state = fold(state, record);
    // A task that has only begun has no checkpoint yet: its files are those of the task before.
    const isWhole = !state.openTurn && state.task?.snapshot !== null;
    if (lastTurnOf(state) === toTurn && isWhole) found = state;
  }
  if (!found)
    throw new HoldfastError(
      "turn_not_found",
      `there is no turn ${toTurn} to rewind to; the last turn that began is ${state.turns}`,
    );
  return found;
}

export async function handOffSession(
  home: Home,
  idText: string,
  user: string | undefined,
  options: HandOffOptions,
): Promise<HandOff> {
  return asOwner(
    home,
    await findSession(home, idText, user),
    (room) => handOff(room, options),
    ({ status, handoff }) => {
      if (status === "handed_off")
        throw new HoldfastError(
          "handoff_open",
          `the session is already handed off to ${handoff?.to}, in ${handoff?.directory}`,
          {
            directory: handoff?.directory,
          },
        );
      if (status === "closed" || status === "archived")
        throw new HoldfastError(
          "illegal_transition",
          `the session is ${status}, so it can't be handed off: resume it first`,
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
        throw new HoldfastError(
          "illegal_transition",
          `the session is ${status}, not handed off: there is nothing to take back`,
          {
            status,
          },
        );
    },
  );
}

/**
 * The path of its files, for a person who wants to work on them in place; undefined when they have no path.
 * Files at rest are marked as changed, so that the next task, or a pause, looks at them again.
 */
export async function openFiles(home: Home, idText: string, user?: string): Promise<string | undefined> {
  const found = await findSession(home, idText, user);
  const { state } = await inspectSession(found.dir);
  if (state.task?.capsule !== "there" || state.lacksRepo) return undefined;
  if (probeOwner(found.dir).held) {
    const layout = new CapsuleDir(capsuleDir(found.dir, state.task.number));
    return (await layout.isThere()) ? plainPath(layout, await layout.readSpec()) : undefined;
  }
  return asOwner(home, found, async (room) => {
    const capsule = await openCapsule(room);
    const path = capsule && plainPath(capsule.layout, capsule.spec);
    if (path !== undefined) await capsule?.unsettle();
    return path;
  });
}
