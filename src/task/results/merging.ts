/**
 * Owns the merge of a session's work into a branch of the user's: replayed on the branch's tip, verified as exactly the
 * tree that the branch becomes, and then the branch is moved forward. One at a time for a repo; the others wait.
 *
 * T13 What becomes the branch is what was verified. Where the branch moved meanwhile, all of it is done again.
 * What a kill leaves: before `merge_started` nothing; after it, a branch that tells whether it was done
 * (`finish-merging.ts`).
 */
import {
  assertMovable,
  branchTip,
  findTarget,
  isAncestor,
  isConflicted,
  mergeLock,
  moveTarget,
  openStore,
  type Replayed,
  type Repo,
  replay,
  toText,
  treeOf,
  userIdentity,
} from "../../capsule/index.ts";
import { HoldfastError, type Verdict } from "../../contract/index.ts";
import { type SessionState, taskUnderWay } from "../../session/index.ts";
import { tellStep, withFileLock } from "../../util/index.ts";
import { settleLast } from "../files/begin.ts";
import { commitBelow } from "../files/starting-point.ts";
import type { Room } from "../room/room.ts";
import { mergeReason } from "./finish-merging.ts";
import { messageOfAll } from "./publishing.ts";

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
  /** As one commit. */
  readonly isSquashed?: boolean | undefined;
  /** A person wants no checks. */
  readonly isUnverified?: boolean | undefined;
}

export interface MergedWork {
  readonly into: string;
  /** What the branch is at. */
  readonly commit: string;
  /** The commit of the session's branch that was merged. */
  readonly from: string;
  readonly commits: number;
  readonly verdict: Verdict;
  /** False when the branch had all of it before. */
  readonly isNew: boolean;
}

/** A branch that moves all the time must not keep us forever. */
const ATTEMPTS = 5;
const NAMED_PATHS = 10;

type Asked = MergeOptions & { readonly verify: VerifyTree };

/** Of a session at rest that the caller owns. */
export async function mergeWork(room: Room, options: Asked): Promise<MergedWork> {
  const { repo, io } = room;
  if (repo.isStandIn)
    throw new HoldfastError("no_repo", `session ${room.session.id} has no repo that it could be merged into`);
  await settleLast(room);
  // What is refused is refused before anything is waited for.
  await workOf(room);
  const { branch } = await findTarget(repo, options.into);
  await assertMovable(repo, branch);
  tellStep(io.onProgress, "waiting for other merges into this repo");
  return withFileLock(mergeLock(repo), () => merge(room, branch, options));
}

async function merge(room: Room, into: string, options: Asked): Promise<MergedWork> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const merged = await tryMerge(room, into, options);
    if (merged) return merged;
  }
  throw new HoldfastError("merge_refused", `the branch ${into} moves all the time: try it again later`);
}

/** Undefined where the branch moved meanwhile. */
async function tryMerge(
  room: Room,
  into: string,
  { isSquashed = false, isUnverified = false, verify }: Asked,
): Promise<MergedWork | undefined> {
  const { session, repo, io } = room;
  const { task, from, name } = await workOf(room);
  const target = await findTarget(repo, into);
  await assertMovable(repo, into);
  const { commit, tree, commits } = await replayed(room, target, { from, isSquashed });
  const done = {
    task,
    into,
    commit,
    from,
    ...(isSquashed && { isSquashed }),
    ...(isUnverified && { isUnverified }),
  };
  if (commit === target.tip) {
    await session.append("work_merged", { task, into, commit, from });
    return { into, commit, from, commits: 0, verdict: "unverified", isNew: false };
  }
  tellStep(io.onProgress, `checking what ${into} would become`);
  const { verdict, failed } = isUnverified
    ? { verdict: "unverified" as const, failed: [] }
    : await verify(room, { tree, base: target.tip, into });
  if (verdict === "failed")
    throw new HoldfastError(
      "checks_failed",
      `${failed.join(", ")} failed on what ${into} would become: it stays as it is`,
      { into, checks: [...failed], tree },
    );
  tellStep(io.onProgress, `moving ${into}`);
  const isMoved = await moveTarget({
    repo,
    store: await openStore(repo, io.disk),
    disk: io.disk,
    ...target,
    commit,
    reason: mergeReason(name),
    identity: await userIdentity(repo),
    onMove: async () => void (await session.append("merge_started", done)),
  });
  if (!isMoved) return undefined;
  await session.append("work_merged", done);
  return { into, commit, from, commits: isSquashed ? 1 : commits.length, verdict, isNew: true };
}

interface WorkToMerge {
  readonly task: number;
  /** The session's branch, and what it is at: a person's commits on it are merged, too. */
  readonly name: string;
  readonly from: string;
}

async function workOf({ session, repo }: Room): Promise<WorkToMerge> {
  const { task, branch } = session.state;
  const facts = { session: session.id };
  const nothing = (why: string) => new HoldfastError("nothing_to_merge", why, facts);
  if (!task) throw nothing(`session ${session.id} has done nothing yet`);
  if (taskUnderWay(session.state))
    throw new HoldfastError(
      "merge_refused",
      `task ${task.number} is under way: wait for it, or end it with holdfast cancel`,
      facts,
    );
  if (task.outcome === "needs_review" && task.published === null)
    throw new HoldfastError("needs_review", `the work of task ${task.number} needs a review`, facts);
  if (await hasUnpublished(repo, session.state))
    throw new HoldfastError(
      "merge_refused",
      `session ${session.id} has work that is not on its branch: holdfast branch publishes it`,
      facts,
    );
  if (!branch?.tip) throw nothing(`session ${session.id} has published nothing`);
  const from = await branchTip(repo, branch.name);
  if (from === undefined) throw nothing(`the branch ${branch.name} is not there any more`);
  return { task: task.number, name: branch.name, from };
}

async function hasUnpublished(repo: Repo, { task }: SessionState): Promise<boolean> {
  if (!task?.snapshot) return false;
  return task.snapshot.tree !== (await treeOf(repo, await commitBelow(repo, task)));
}

async function replayed(
  { session, repo, io }: Room,
  { branch: into, tip }: { readonly branch: string; readonly tip: string },
  { from, isSquashed }: { readonly from: string; readonly isSquashed: boolean },
): Promise<Replayed> {
  const { state } = session;
  const since = await mergedBefore(repo, state, { into, tip, from });
  if (since === from)
    throw new HoldfastError(
      "nothing_to_merge",
      `all that session ${session.id} has was merged into ${into}`,
      {
        session: session.id,
      },
    );
  tellStep(io.onProgress, `putting the work on ${into}`);
  const result = await replay({
    repo,
    store: await openStore(repo, io.disk),
    tip: from,
    onto: tip,
    since,
    identity: await userIdentity(repo),
    atMs: io.clock.nowMs(),
    squashedAs: isSquashed ? (subjects) => messageOfAll(state, subjects) : undefined,
  });
  if (!isConflicted(result)) return result;
  const paths = result.paths.map((path) => toText(path));
  await session.append("merge_conflicted", { task: state.task?.number ?? 1, into, paths });
  const more = paths.length > NAMED_PATHS ? ` and ${paths.length - NAMED_PATHS} more` : "";
  const hint = result.hasMerges && !isSquashed ? "; the work has merge commits: --squash may do" : "";
  throw new HoldfastError(
    "merge_conflicts",
    `the work and ${into} change the same: ${paths.slice(0, NAMED_PATHS).join(", ")}${more}${hint}`,
    { into, paths, at: result.at, tree: result.tree },
  );
}

/** Up to which commit the branch has the session's work, however that looks there. */
async function mergedBefore(
  repo: Repo,
  { merged }: Pick<SessionState, "merged">,
  { into, tip, from }: { readonly into: string; readonly tip: string; readonly from: string },
): Promise<string | undefined> {
  if (!merged || merged.into !== into) return undefined;
  const isStill = (await isAncestor(repo, merged.commit, tip)) && (await isAncestor(repo, merged.from, from));
  return isStill ? merged.from : undefined;
}
