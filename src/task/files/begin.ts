/**
 * Owns how a task gets its files: all that the last task left, or clean ones. If anything fails, the session
 * keeps the files that it had.
 */
import {
  type Capsule,
  CapsuleDir,
  type CapsuleSettings,
  catchUp,
  clearUnfinished,
  createCapsule,
  differenceFor,
  equip,
  handBack,
  handOn,
  type NewCapsule,
  openStore,
  type RunSetup,
  restoreCapsule,
  settleHandOn,
} from "../../capsule/index.ts";
import type { EventData } from "../../contract/index.ts";
import type { ComingHolder, Sandbox } from "../../process/index.ts";
import { capsuleDir, present } from "../../util/index.ts";
import { finishMerging } from "../results/finish-merging.ts";
import { branchOf, finishPublishing } from "../results/publishing.ts";
import { currentLimits, openCapsule, type Room } from "../room/room.ts";
import { takeCheckpoint } from "./checkpoint.ts";
import { finishRewind } from "./rewind.ts";
import type { Carried, StartingPoint } from "./starting-point.ts";
import { tearDown } from "./teardown.ts";

export interface NewFiles {
  readonly number: number;
  readonly settings: CapsuleSettings;
  readonly sandbox: Sandbox | undefined;
  readonly coming: ComingHolder | undefined;
  readonly runSetup: RunSetup;
  readonly signal: AbortSignal | undefined;
}

export interface Beginning {
  readonly capsule: Capsule;
  readonly missingIncludes: readonly string[];
  /** Call it when the task is recorded. */
  settle(): Promise<void>;
  /** Call it when something failed before the task was recorded. */
  undo(): Promise<void>;
}

/**
 * Puts the last capsule's files into a snapshot that the journal names. Call it before choosing what a task
 * begins with.
 */
export async function settleLast(room: Room): Promise<void> {
  await finishPublishing(room);
  await finishMerging(room);
  await finishRewind(room);
  const capsule = await openCapsule(room);
  if (!capsule || capsule.spec.settled === room.session.state.task?.snapshot?.commit) return;
  await settleFiles(room, capsule);
}

/** Takes a checkpoint with no process running. From then on the files are those of its snapshot. */
export async function settleFiles(room: Room, capsule: Capsule): Promise<void> {
  // A process that still runs could write after the snapshot.
  await capsule.detach();
  const { snapshot } = await takeCheckpoint(room, capsule, await currentLimits(room));
  await capsule.settle(snapshot);
}

export async function beginFiles(room: Room, from: StartingPoint, files: NewFiles): Promise<Beginning> {
  const { base, carried, isNext } = from;
  // All refusals come before anything is changed.
  const theirs = carried && (await commitsBetween(room, base, carried));
  const last = await openCapsule(room);
  if (last && !isNext) await tearDown(room, { isReplaced: true });
  const request = await requestOf(room, files);
  if (!carried) {
    const { capsule, missingIncludes } = await createCapsule(room.io, { ...request, base });
    return { capsule, missingIncludes, settle: async () => {}, undo: () => capsule.detach() };
  }
  const { capsule, undo } =
    last && isNext
      ? await handOver(room, last, { ...request, base })
      : await bringBack(room, { ...request, base }, carried.snapshot);
  try {
    if (theirs && base !== null) await catchUp(capsule, base, theirs);
    const { missingIncludes } = await equip(room.io, capsule, files.settings);
    return { capsule, missingIncludes, settle: () => settleHandOn(capsule), undo };
  } catch (error) {
    await undo();
    throw error;
  }
}

/**
 * The commits that a person made since, if they can be combined with the carried work; undefined when there
 * are none.
 */
async function commitsBetween({ repo, io }: Room, base: string | null, { from, tree }: Carried) {
  if (base === null || base === from || tree === "") return undefined;
  return differenceFor(repo, await openStore(repo, io.disk), { from, to: base }, tree);
}

interface Taken {
  readonly capsule: Capsule;
  undo(): Promise<void>;
}

async function handOver(room: Room, last: Capsule, next: NewCapsule): Promise<Taken> {
  const { io } = room;
  const former = last.layout.dir;
  const capsule = await handOn(io, last, next);
  return { capsule, undo: async () => void (await handBack(io, capsule, former)) };
}

async function bringBack(room: Room, request: NewCapsule, snapshot: string): Promise<Taken> {
  const { io, trashDir, session } = room;
  const { capsule } = await restoreCapsule(io, request, snapshot);
  await capsule.unsettle();
  const name = `${session.id}-${request.task}-${io.clock.nowMs()}`;
  return { capsule, undo: () => capsule.remove(trashDir, name) };
}

async function requestOf({ sessionDir, session, repo }: Room, files: NewFiles) {
  const { number: task, settings, sandbox, coming, runSetup, signal } = files;
  const dir = capsuleDir(sessionDir, task);
  // A capsule that no record names was made by a process that was killed before it used the capsule.
  await clearUnfinished(new CapsuleDir(dir));
  const branch = branchOf(session.state);
  return {
    dir,
    session: session.id,
    branch,
    task,
    repo,
    settings,
    sandbox,
    coming,
    runSetup,
    ...present({ signal }),
  };
}

/** The form that `task_started` has for it. */
export function carriedIn(
  room: Room,
  { carried, isNext }: StartingPoint,
): EventData<"task_started">["carried"] {
  const { task } = room.session.state;
  if (!carried || !task || carried.tree === "") return undefined;
  const { from, tree, hasUnpublished } = carried;
  const outcome = isNext ? (task.outcome ?? undefined) : undefined;
  return {
    task: task.number,
    tree,
    ...present({ outcome, from: from ?? undefined }),
    ...(hasUnpublished && { hasUnpublished }),
  };
}
