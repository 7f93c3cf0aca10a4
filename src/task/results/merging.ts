/**
 * Owns the merge of a session's work into a branch of the user's: replayed on the branch's tip, verified as exactly the
 * tree that the branch becomes, and then the branch is moved forward. One at a time for a repo; the others wait.
 *
 * T14 What becomes the branch is what was verified. Where the branch moved meanwhile, all of it is done again.
 * What a kill leaves: before `merge_started` nothing; after it, a branch that tells whether it was done
 * (`finish-merging.ts`).
 */
import {
  assertMovable,
  findTarget,
  isConflicted,
  mergeLock,
  moveTarget,
  openStore,
  type Replayed,
  toText,
  userIdentity,
} from "../../capsule/index.ts";
import { HoldfastError, type Verdict } from "../../contract/index.ts";
import { tellStep, withFileLock } from "../../util/index.ts";
import { settleLast } from "../files/begin.ts";
import type { Room } from "../room/room.ts";
import { mergeReason } from "./finish-merging.ts";
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

async function replayed(
  room: Room,
  target: { readonly branch: string; readonly tip: string },
  options: { readonly from: string; readonly isSquashed: boolean },
): Promise<Replayed> {
  const result = await replayOnto(room, target, options);
  if (!isConflicted(result)) return result;
  const { branch: into } = target;
  const { session } = room;
  const paths = result.paths.map((path) => toText(path));
  await session.append("merge_conflicted", { task: session.state.task?.number ?? 1, into, paths });
  const hint = options.isSquashed ? "" : "; the work has merge commits: --squash may do";
  throw conflictWith(into, result, hint);
}
