/**
 * Owns the merge of a session's work into one of the user's branches. It is replayed on the branch's tip,
 * verified as exactly the tree that the branch is to get, and then the branch is moved forward. A repo has
 * one merge at a time; others wait.
 *
 * merge-1 The branch gets exactly the tree that was verified. If the branch moved meanwhile, everything is
 *    done again. What a kill leaves: before `merge_started` nothing; after it, a branch that shows whether
 *    the merge was done (`finish-merging.ts`). A move that failed is given up on record, so that nothing
 *    touches the user's files later.
 */
import {
  assertMovable,
  branchTip,
  findTarget,
  isConflicted,
  mergeLock,
  moveTarget,
  openStore,
  type Replayed,
  type Target,
  toText,
  userIdentity,
} from "../../capsule/index.ts";
import { type EventData, HoldfastError, type Verdict } from "../../contract/index.ts";
import { tellStep, withFileLock } from "../../util/index.ts";
import { settleLast } from "../files/begin.ts";
import type { Room } from "../room/room.ts";
import { mergeReason } from "./finish-merging.ts";
import { type KeptCommits, keptCommits, keptFor, keptOnto } from "./keeping.ts";
import { conflictWith, replayOnto, workOf } from "./work-to-merge.ts";

export interface VerifiedTree {
  readonly tree: string;
  /** The commit whose config has the checks. */
  readonly base: string | null;
  /** The branch that the tree is to become. */
  readonly into: string;
}

export type VerifyTree = (
  room: Room,
  of: VerifiedTree,
) => Promise<{ readonly verdict: Verdict; readonly failed: readonly string[] }>;

export interface MergeOptions {
  /** Default: the branch that the checkout is on. */
  readonly into?: string | undefined;
  /** Merge as one commit. */
  readonly isSquashed?: boolean | undefined;
  /** A person asked for no checks. */
  readonly isUnverified?: boolean | undefined;
  /** Merge the agent's own commits instead of one commit for each task. */
  readonly keepsCommits?: boolean | undefined;
  /** A person has reviewed these commits. */
  readonly isReviewed?: boolean | undefined;
}

export interface MergedWork {
  readonly into: string;
  /** The new tip of the branch. */
  readonly commit: string;
  /** The commit of the session's branch that was merged. */
  readonly from: string;
  readonly commits: number;
  /** Who made the agent's commits that were kept, apart from the user. */
  readonly authors: readonly string[];
  readonly verdict: Verdict;
  /** False when the branch already had all of it. */
  readonly isNew: boolean;
}

/** A branch that moves all the time must not make the merge try forever. */
const ATTEMPTS = 5;
/** That one record names. */
const MAX_PATHS = 100;

type Asked = MergeOptions & { readonly verify: VerifyTree };
/** `kept`: the agent's commits, if they are to be kept. */
type Ready = Asked & { readonly kept?: KeptCommits | undefined };

/** For a session at rest that the caller owns. */
export async function mergeWork(room: Room, options: Asked): Promise<MergedWork> {
  const { repo, io } = room;
  if (repo.isStandIn)
    throw new HoldfastError(
      "no_repo",
      `session ${room.session.id} has no repo, so there is no branch to merge into`,
    );
  await settleLast(room);
  if (options.keepsCommits && options.isSquashed)
    throw new HoldfastError("usage", "--keep-commits and --squash can't be used together");
  // All refusals come before anything is waited for.
  const { from } = await workOf(room);
  const { branch, tip } = await findTarget(repo, options.into);
  await assertMovable(repo, branch);
  const { merged } = room.session.state;
  const isNew = merged?.from !== from || merged.into !== branch;
  const { isReviewed = false } = options;
  const kept =
    options.keepsCommits && isNew ? await keptCommits(room, { from, onto: tip, isReviewed }) : undefined;
  tellStep(io.onProgress, "waiting for other merges into this repo");
  return withFileLock(mergeLock(repo), () => merge(room, branch, { ...options, kept }));
}

async function merge(room: Room, into: string, options: Ready): Promise<MergedWork> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const merged = await tryMerge(room, into, options);
    if (merged) return merged;
  }
  throw new HoldfastError(
    "merge_refused",
    `the branch ${into} kept moving during the merge: try again later`,
  );
}

/** Undefined when the branch moved meanwhile. */
async function tryMerge(room: Room, into: string, options: Ready): Promise<MergedWork | undefined> {
  const { isSquashed = false, isReviewed = false } = options;
  const { session, repo } = room;
  const { task, from, name } = await workOf(room);
  const target = await findTarget(repo, into);
  await assertMovable(repo, into);
  const work = await replayed(room, target, { from, isSquashed });
  const kept =
    options.keepsCommits && (await keptFor(room, options.kept, { from, onto: target.tip, isReviewed }));
  const { commit, tree, commits } =
    kept && work.commit !== target.tip ? await keptOnto(room, target, kept, work) : work;
  const authors = kept ? kept.authors : [];
  const done = recordOf({ task, into, commit, from }, options, kept ? authors : undefined);
  if (commit === target.tip) {
    await session.append("work_merged", { task, into, commit, from });
    return { into, commit, from, commits: 0, authors, verdict: "unverified", isNew: false };
  }
  const verdict = await verdictOn(room, { tree, base: target.tip, into }, options);
  if (!(await moveInto(room, target, mergeReason(name), done))) return undefined;
  await session.append("work_merged", done);
  const count = isSquashed ? 1 : commits.length;
  return { into, commit, from, commits: count, authors, verdict, isNew: true };
}

/** `authors`: those of the agent's commits, if they are kept. */
function recordOf(
  merge: Pick<EventData<"merge_started">, "task" | "into" | "commit" | "from">,
  { isSquashed, isUnverified, isReviewed }: MergeOptions,
  authors: readonly string[] | undefined,
): EventData<"merge_started"> {
  return {
    ...merge,
    ...(isSquashed && { isSquashed }),
    ...(isUnverified && { isUnverified }),
    ...(authors && { isKept: true, authors: [...authors] }),
    ...(authors && isReviewed && { isReviewed }),
  };
}

/** Fails if a check failed. */
async function verdictOn(room: Room, of: VerifiedTree, { verify, isUnverified }: Asked): Promise<Verdict> {
  if (isUnverified) return "unverified";
  const { tree, into } = of;
  tellStep(room.io.onProgress, `checking the merged tree for ${into}`);
  const { verdict, failed } = await verify(room, of);
  if (verdict !== "failed") return verdict;
  throw new HoldfastError(
    "checks_failed",
    `${failed.join(", ")} failed on the merged tree: ${into} was not changed`,
    { into, checks: [...failed], tree },
  );
}

/** False when the branch moved meanwhile. */
async function moveInto(
  room: Room,
  target: Target,
  reason: string,
  merge: EventData<"merge_started">,
): Promise<boolean> {
  const { session, repo, io } = room;
  tellStep(io.onProgress, `moving ${target.branch}`);
  let isMoved = false;
  try {
    isMoved = await moveTarget({
      repo,
      store: await openStore(repo, io.disk),
      disk: io.disk,
      ...target,
      commit: merge.commit,
      reason,
      identity: await userIdentity(repo),
      onMove: async () => void (await session.append("merge_started", merge)),
    });
    return isMoved;
  } finally {
    if (!isMoved) await giveUp(room, merge);
  }
}

/** If the branch has the commit after all, the merge is completed later. */
async function giveUp(
  { session, repo }: Room,
  { task, into, commit }: EventData<"merge_started">,
): Promise<void> {
  if (session.state.merging?.commit !== commit || (await branchTip(repo, into)) === commit) return;
  await session.append("merge_given_up", { task, into, commit });
}

async function replayed(
  room: Room,
  target: Target,
  options: { readonly from: string; readonly isSquashed: boolean },
): Promise<Replayed> {
  const result = await replayOnto(room, target, options);
  if (!isConflicted(result)) return result;
  const { branch: into } = target;
  const { session } = room;
  const paths = result.paths.slice(0, MAX_PATHS).map((path) => toText(path));
  const more = result.paths.length - paths.length;
  const task = session.state.task?.number ?? 1;
  await session.append("merge_conflicted", { task, into, paths, ...(more > 0 && { more }) });
  // What one commit does and another undoes is in no conflict of the whole.
  const whole = options.isSquashed
    ? result
    : await replayOnto(room, target, { ...options, isSquashed: true });
  throw conflictWith(into, result, isConflicted(whole) ? RESOLVE : SQUASH);
}

const RESOLVE = "give the conflict to the session with holdfast merge --resolve";
const SQUASH = "only single commits of the work do, so it can be merged with holdfast merge --squash";
