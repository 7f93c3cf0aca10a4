/**
 * Owns what a task begins with: the commit that its work is compared with, and the files that it gets.
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
  /** The name of a commit: begin clean, with that commit. */
  readonly base?: string;
  /** Begin clean, with HEAD or the commit that the repo's configuration names. */
  readonly isFresh?: boolean;
  /** Together with `base`: begin with the files of this snapshot. */
  readonly snapshot?: string;
  /** Together with `snapshot`: what is known about it. */
  readonly carried?: Omit<Carried, "snapshot">;
}

/** The files of an earlier task, including ignored ones. */
export interface Carried {
  /** The snapshot's commit. */
  readonly snapshot: string;
  /** The tree of the work in it. */
  readonly tree: string;
  /**
   * The commit that the files are based on. If it is not the base, commits of a person are between the two.
   */
  readonly from: string | null;
  /** Whether the files include work that is in no commit of the base. */
  readonly hasUnpublished: boolean;
}

export interface StartingPoint {
  /** The commit that the work is compared with, and published on. */
  readonly base: string | null;
  /** Begin with these files instead of the files of the base. */
  readonly carried?: Carried;
  /** Whether they are the files of the last task, so that its capsule can be handed on. */
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

/** A published commit may be gone: its branch was deleted, or this is another clone. */
export async function commitBelow(repo: Repo, task: Task): Promise<string | null> {
  const commit = standsOn(task);
  return commit === null || commit === task.base || (await hasObject(repo, commit)) ? commit : task.base;
}

/**
 * If all of the session's work was merged: the present tip of the branch that it was merged into. This is
 * decided by the record of the merge, not by ancestry, because the commits may differ there. Undefined when
 * the session has more work by now, or the merge was undone.
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

/** A person may have added commits to the session's branch, or merged it. */
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
  // Work that was never published stays on its base, whatever the user does in the repo.
  const canMove = isPersons || isPlain || task?.published === from;
  return canMove && (await isMerged(repo, next)) ? resolveCommit(repo) : next;
}
