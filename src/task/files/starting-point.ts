/**
 * Owns the question what a task begins with: which commit its work is measured against, and which files it gets.
 */
import {
  branchTip,
  hasObject,
  isAncestor,
  isMerged,
  type Repo,
  resolveCommit,
  treeOf,
} from "../../capsule/index.ts";
import { type SessionState, standsOn } from "../../session/index.ts";
import { defaultBase } from "../room/room.ts";

export interface StartingOptions {
  /** A name of a commit: begin clean, with that. */
  readonly base?: string;
  /** Begin clean, with HEAD, or what the repo's configuration names instead. */
  readonly isFresh?: boolean;
  /** With `base`: the files begin with this snapshot. */
  readonly snapshot?: string;
  /** With `snapshot`: what is known of it. */
  readonly carried?: Omit<Carried, "snapshot">;
}

/** Files of an earlier task, with everything in them. */
export interface Carried {
  /** The snapshot's commit. */
  readonly snapshot: string;
  /** The work in it. */
  readonly tree: string;
  /** The commit that they stand on; where it is not the base, a person's commits are between the two. */
  readonly from: string | null;
  /** Whether they have work that is in no commit of the base. */
  readonly hasUnpublished: boolean;
}

export interface StartingPoint {
  /** The commit that the work is measured against, and published on. */
  readonly base: string | null;
  /** Begin with these files, and not with the base's. */
  readonly carried?: Carried;
  /** Whether they are the last task's, so that its capsule can be handed on. */
  readonly isNext: boolean;
}

export async function startingPoint(
  repo: Repo,
  state: Pick<SessionState, "task" | "branch" | "merged">,
  { base: named, isFresh, snapshot, carried: known }: StartingOptions,
): Promise<StartingPoint> {
  const { task } = state;
  if (snapshot !== undefined) {
    const base = named === undefined ? null : await resolveCommit(repo, named);
    const carried = { from: base, tree: "", hasUnpublished: false, ...known, snapshot };
    return { base, carried, isNext: false };
  }
  if (named !== undefined || isFresh || !task?.snapshot)
    return { base: await cleanBase(repo, named), isNext: false };
  const { commit, tree } = task.snapshot;
  const from = await commitBelow(repo, task);
  const isPlain = tree === (await treeOf(repo, from));
  const merged = isPlain ? await mergedTip(repo, state, from) : undefined;
  const base = merged ?? (await commitToStandOn(repo, state, from, isPlain));
  return { base, carried: { snapshot: commit, tree, from, hasUnpublished: !isPlain }, isNext: true };
}

/** The commit that a task begins with, if it begins clean. */
export async function cleanBase(repo: Repo, named: string | undefined): Promise<string | null> {
  return named === undefined ? (await defaultBase(repo)).commit : resolveCommit(repo, named);
}

type Task = NonNullable<SessionState["task"]>;

/** What was published may be gone: its branch was deleted, or this is another clone. */
export async function commitBelow(repo: Repo, task: Task): Promise<string | null> {
  const commit = standsOn(task);
  return commit === null || commit === task.base || (await hasObject(repo, commit)) ? commit : task.base;
}

/**
 * Where all that the session has was merged: the branch that it went into, as it is now. By the record of the merge, and
 * not by ancestry: the commits may look different there. Undefined where it has more by now, or the merge was undone.
 */
async function mergedTip(
  repo: Repo,
  { branch, merged }: Pick<SessionState, "branch" | "merged">,
  from: string | null,
): Promise<string | undefined> {
  if (!merged) return undefined;
  const own = branch ? await branchTip(repo, branch.name) : undefined;
  if ((own ?? from) !== merged.from) return undefined;
  const tip = await branchTip(repo, merged.into);
  return tip !== undefined && (await isAncestor(repo, merged.commit, tip)) ? tip : undefined;
}

/** A person may have added commits to the branch, or merged it. */
async function commitToStandOn(
  repo: Repo,
  { task, branch }: Pick<SessionState, "task" | "branch">,
  from: string | null,
  isPlain: boolean,
): Promise<string | null> {
  const tip = branch ? await branchTip(repo, branch.name) : undefined;
  const isPersons = tip !== undefined && tip !== branch?.tip && tip !== branch?.intended;
  const next = isPersons ? tip : from;
  if (next === null) return isPlain ? resolveCommit(repo) : null;
  // Work that was never published stays where it began, whatever the user does elsewhere.
  const canMove = isPersons || isPlain || task?.published === from;
  return canMove && (await isMerged(repo, next)) ? resolveCommit(repo) : next;
}
