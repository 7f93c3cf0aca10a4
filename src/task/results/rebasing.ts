/**
 * Owns the rebase of a session that is not merged: its commits are put on the tip of a branch, its own branch
 * is moved there, and its files are updated. The old tip is kept.
 *
 * What a kill leaves: updated files, in a checkpoint or not, and a branch that was not moved. Running the
 * rebase again completes it, because the same commits give the same tree. The opposite never happens: then
 * the files would undo what the branch has.
 */
import {
  assertPublishable,
  copyObjects,
  differenceFor,
  findTarget,
  isConflicted,
  moveOnto,
  openStore,
  ownCommits,
  publish,
  type Replayed,
  type Repo,
  treeOf,
  userIdentity,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { present } from "../../util/index.ts";
import { settleFiles, settleLast } from "../files/begin.ts";
import { commitBelow } from "../files/starting-point.ts";
import { restore } from "../files/teardown.ts";
import { openCapsule, type Room, requireCapsule } from "../room/room.ts";
import { conflictWith, replayOnto, workOf } from "./work-to-merge.ts";

export interface RebaseOptions {
  /** Default: the branch that the checkout is on. */
  readonly onto?: string | undefined;
}

export interface Rebased {
  readonly onto: string;
  /** The session's branch, and its new tip. */
  readonly branch: string;
  readonly commit: string;
  /** Its previous tip. */
  readonly from: string;
  /** False when it was already there. */
  readonly isNew: boolean;
}

const RESOLVE = "holdfast merge --resolve gives the conflict to the session";

/** For a session at rest that the caller owns. */
export async function rebaseWork(room: Room, options: RebaseOptions): Promise<Rebased> {
  const { session, repo } = room;
  if (repo.isStandIn)
    throw new HoldfastError(
      "no_repo",
      `session ${session.id} has no repo, so there is no branch to rebase onto`,
    );
  await settleLast(room);
  const target = await findTarget(repo, options.onto);
  const before = session.state.task?.snapshot?.tree;
  // The files may have anything here. They are checked when the new tree is known.
  const { from, name } = await workOf(room, before);
  const result = await replayOnto(room, target, { from });
  if (isConflicted(result)) throw conflictWith(target.branch, result, RESOLVE);
  await workOf(room, result.tree);
  const done = { onto: target.branch, branch: name, commit: result.commit, from };
  if (result.commit === from) return { ...done, isNew: false };
  // Files on the new base below a branch that stays on the old one would undo what the new base brings.
  const ours = [from, session.state.branch?.tip].filter((id) => typeof id === "string");
  await assertPublishable({ repo, branch: name, ours, base: target.tip });
  await copyObjects(repo, await openStore(repo, room.io.disk), result.commit, target.tip);
  await bringFiles(room, result);
  await moveBranch(room, { tip: target.tip, ours, name }, result);
  return { ...done, isNew: true };
}

/** Brings the files to the new tree, and takes a checkpoint. */
async function bringFiles(room: Room, { commit, tree }: Replayed): Promise<void> {
  const { session, repo, io } = room;
  const { task } = session.state;
  if (!task?.snapshot || task.snapshot.tree === tree) return;
  if (!(await openCapsule(room))) await restore(room);
  const capsule = await requireCapsule(room);
  try {
    const range = { from: await commitBelow(repo, task), to: commit };
    const theirs = await differenceFor(repo, await openStore(repo, io.disk), range, task.snapshot.tree);
    await moveOnto(capsule, commit, theirs);
    await settleFiles(room, capsule);
  } finally {
    await capsule.detach();
  }
  const now = session.state.task?.snapshot?.tree;
  if (now !== (await treeOf(repo, commit)))
    throw new Error(`the files have ${now} after a rebase onto ${tree}`);
}

async function moveBranch(
  { session, repo, io }: Room,
  { tip, ours, name }: { readonly tip: string; readonly ours: readonly string[]; readonly name: string },
  { commit, commits }: Replayed,
): Promise<void> {
  const { task } = session.state;
  const base = task?.base ? await baseAfter(repo, task.base, tip, commits) : tip;
  const published = { task: task?.number ?? 1, branch: name, commit, base };
  const replaced = await publish({
    repo,
    store: await openStore(repo, io.disk),
    disk: io.disk,
    session: session.id,
    commit,
    base: tip,
    branch: name,
    // Commits that a person made on it were replayed too.
    ours,
    identity: await userIdentity(repo),
    onMove: async (replaced) =>
      void (await session.append("publishing_started", { ...published, ...present({ replaced }) })),
  });
  await session.append("work_published", { ...published, ...present({ replaced }) });
}

/** What a task's base became. If it was left out, all of it is in what became of the commit before it. */
async function baseAfter(
  repo: Repo,
  base: string,
  onto: string,
  commits: Replayed["commits"],
): Promise<string> {
  const became = new Map(commits.map(({ from, to }) => [from, to]));
  const { ids } = await ownCommits(repo, base, onto);
  const nearest = ids.findLast((id) => became.has(id));
  return (nearest !== undefined && became.get(nearest)) || onto;
}
