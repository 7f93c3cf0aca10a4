/**
 * Owns comparing work: what a task changed, what it has changed so far, what a session changed in all, and
 * how two sessions differ. It need not own the session: it reads the store, and the capsule of a running
 * command.
 */
import {
  type DiffStat,
  openStore,
  type Repo,
  readCommit,
  readPatch,
  statOf,
  treeOf,
} from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import {
  capsuleIo,
  type FoundSession,
  findSession,
  type Home,
  repoOf,
  repoPathOf,
} from "../../home/index.ts";
import { probeOwner, readDurable } from "../../journal/index.ts";
import { inspectSession, type SessionState, stateOfTask, taskUnderWay } from "../../session/index.ts";
import { workAgain } from "../files/checkpoint.ts";
import { locatingDamage } from "../files/snapshot-damage.ts";
import { workNow } from "../files/work-now.ts";

export interface DiffOptions {
  /** The number of a task. Default: the latest one. */
  readonly task?: number;
  /** Everything since the session began with a clean base. */
  readonly isWhole?: boolean;
  /** Compare with another session of the same repo, or with one of its tasks. */
  readonly against?: { readonly session: string; readonly task?: number };
  /** Leaves the patch empty: the names of the changed files are enough. */
  readonly isStatOnly?: boolean;
}

export interface Diff {
  readonly patch: Buffer;
  readonly stat: DiffStat;
  /** The commit that it is compared with; null when that is not a commit. */
  readonly base: string | null;
  readonly tree: string;
  readonly turn: number;
  /** Whether a command is still running: the work is as it was a moment ago. */
  readonly isSoFar: boolean;
}

interface Side {
  readonly repo: Repo;
  readonly tree: string;
  readonly turn: number;
  readonly isSoFar: boolean;
}

export async function diffSession(
  home: Home,
  idText: string,
  user: string | undefined,
  { task, isWhole, against, isStatOnly }: DiffOptions = {},
): Promise<Diff> {
  const one = await workOf(home, idText, user, task);
  if (against !== undefined) {
    const other = await workOf(home, against.session, user, against.task);
    if (other.side.repo.key !== one.side.repo.key)
      throw new HoldfastError(
        "usage",
        `${one.found.id} and ${other.found.id} work on different repos, so they can't be compared`,
      );
    const isSoFar = one.side.isSoFar || other.side.isSoFar;
    return compare(home, { ...other.side, isSoFar }, one.side.tree, { base: null, isStatOnly });
  }
  const { found, state, side } = one;
  const base = isWhole ? await firstBase(found, state) : (state.task?.base ?? null);
  return compare(home, side, await treeOf(side.repo, base), { base, isStatOnly });
}

/** Of a request: what a person is shown of its files. */
export type ShownDiff =
  | (Pick<Diff, "patch" | "stat"> & { readonly isTooLarge?: false })
  /** More than a person could look through. `files`: null if even their list is too long. */
  | { readonly isTooLarge: true; readonly files: number | null };

const MAX_PATCH_BYTES = 256 * 1024 * 1024;
const MAX_SHOWN_PATCH_BYTES = 16 * 1024 * 1024;
const MAX_SHOWN_FILES = 10_000;
const MAX_LIST_BYTES = 16 * 1024 * 1024;

/** Compares the tree of a session's work with a commit of the user's, or with one that Holdfast pushed. */
export async function diffTrees(
  home: Home,
  { session, user }: { readonly session: string; readonly user: string },
  { tree, base }: { readonly tree: string; readonly base: string | null },
): Promise<ShownDiff> {
  const found = await findSession(home, session, user);
  const repo = await repoOf(home, (await inspectSession(found.dir)).state);
  const store = await openStore(repo, home.io.disk);
  const stored = base === null ? undefined : await readCommit(repo, store, base);
  const from = stored?.tree ?? (await treeOf(repo, base));
  const stat = await statOf(repo, store, from, tree, MAX_LIST_BYTES).catch(ifTooLarge);
  if (!stat || stat.files > MAX_SHOWN_FILES) return { isTooLarge: true, files: stat?.files ?? null };
  const patch = await readPatch(repo, store, from, tree, MAX_SHOWN_PATCH_BYTES).catch(ifTooLarge);
  return patch ? { patch, stat } : { isTooLarge: true, files: stat.files };
}

function ifTooLarge(error: unknown): undefined {
  if (!isHoldfastError(error, "output_too_large")) throw error;
}

/** The work of the named task, or of the latest one. */
async function workOf(home: Home, idText: string, user: string | undefined, task: number | undefined) {
  const found = await findSession(home, idText, user);
  const asked = task === undefined ? undefined : await stateOfTask(found, task);
  const state = asked ?? (await inspectSession(found.dir)).state;
  return { found, state, side: await sideOf(home, found, state, asked === undefined) };
}

async function compare(
  home: Home,
  { repo, tree, turn, isSoFar }: Side,
  from: string,
  { base, isStatOnly = false }: { readonly base: string | null; readonly isStatOnly?: boolean | undefined },
): Promise<Diff> {
  const store = await openStore(repo, home.io.disk);
  const patch = isStatOnly ? Buffer.alloc(0) : await readPatch(repo, store, from, tree, MAX_PATCH_BYTES);
  return { patch, stat: await statOf(repo, store, from, tree), base, tree, turn, isSoFar };
}

/** The work of a session: as its running command has it now, or as the last checkpoint has it. */
async function sideOf(home: Home, found: FoundSession, state: SessionState, isLast: boolean): Promise<Side> {
  const repo = await repoOf(home, state);
  const live =
    isLast && state.openTurn && probeOwner(found.dir).held
      ? await liveWork(home, found, repo, state)
      : undefined;
  if (live) return live;
  const { state: now } = isLast ? await inspectSession(found.dir) : { state };
  return locatingDamage(home, { ...found, repo: repoPathOf(home, now) }, () =>
    recorded(home, found, repo, now),
  );
}

/** Undefined when the command ended meanwhile; the checkpoint then has all of it. */
async function liveWork(
  home: Home,
  { dir: sessionDir }: FoundSession,
  repo: Repo,
  state: SessionState,
): Promise<Side | undefined> {
  try {
    const work = await workNow({ io: capsuleIo(home), repo, sessionDir }, state);
    return work && { repo, tree: work.tree, turn: state.turns, isSoFar: true };
  } catch (error) {
    const isOver = (await inspectSession(sessionDir)).state.openTurn === null;
    if (isOver && isHoldfastError(error)) return undefined;
    throw error;
  }
}

async function recorded(
  home: Home,
  found: FoundSession,
  repo: Repo,
  { task, name }: SessionState,
): Promise<Side> {
  if (!task?.snapshot) {
    const isCut = taskUnderWay({ task })?.capsule === "there";
    const label = name ?? found.id;
    throw new HoldfastError(
      "no_snapshot",
      isCut
        ? `the command of ${label} was cut off before a checkpoint: save its work with holdfast resume ${label}`
        : `${label} has no checkpoint, so it has no files to compare`,
      { session: found.id },
    );
  }
  const store = await openStore(repo, home.io.disk);
  const { tree } = await workAgain({ repo, id: found.id }, store, task.snapshot);
  return { repo, tree, turn: task.snapshot.turn, isSoFar: false };
}

/** The base of the last task that began clean. All later tasks continue from there. */
async function firstBase(found: FoundSession, { task }: SessionState): Promise<string | null> {
  let base: string | null = task?.base ?? null;
  for await (const { record } of readDurable(found.dir)) {
    if (record.type !== "task_started" || Number(record.data["task"]) > (task?.number ?? 0)) continue;
    if (record.data["carried"] === undefined)
      base = typeof record.data["base"] === "string" ? record.data["base"] : null;
  }
  return base;
}
