/**
 * Owns publishing on request: work that a failed or interrupted task left, work that a person has reviewed,
 * and the commits that the agent made itself.
 */
import {
  AgentGit,
  type CommitToJudge,
  openStore,
  publishAgentCommits,
  type Store,
  treeOf,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { settleLast } from "../files/begin.ts";
import { workAgain } from "../files/checkpoint.ts";
import { commitBelow } from "../files/starting-point.ts";
import { restore } from "../files/teardown.ts";
import { currentLimits, openCapsule, type Room, requireCapsule } from "../room/room.ts";
import { judgeCommits, UNSEARCHED } from "./judging.ts";
import { branchOf, messageOf, type Published, publishTree } from "./publishing.ts";
import { whyToReview } from "./review.ts";

export interface BranchOptions {
  /** A person has reviewed work that was held, or that the agent left unfinished. */
  readonly isReviewed?: boolean;
  /** Publish the agent's own commits; with a name, those of that branch. */
  readonly commits?: boolean | string;
}

export interface Branched extends Published {
  /** False when the branch already had all of it. */
  readonly isNew: boolean;
}

const REVIEW =
  "review the work (holdfast diff), then publish the commits with holdfast branch --commits --reviewed";

/** Publishes the work of the last checkpoint as a commit on the session's branch. */
export async function branchWork(
  room: Room,
  { isReviewed = false }: Pick<BranchOptions, "isReviewed"> = {},
): Promise<Branched> {
  const { session, repo, io } = room;
  assertHasRepo(room);
  await settleLast(room);
  const { task, branch } = session.state;
  if (!task?.snapshot)
    throw new HoldfastError(
      "no_snapshot",
      `session ${session.id} has no checkpoint, so it has no work to publish`,
      {
        session: session.id,
      },
    );
  const base = await commitBelow(repo, task);
  if (task.snapshot.tree === (await treeOf(repo, base))) {
    if (branch?.tip === base && base !== null) return { branch: branch.name, commit: base, isNew: false };
    throw new HoldfastError(
      "no_snapshot",
      `session ${session.id} has changed nothing, so there is nothing to publish`,
      {
        session: session.id,
      },
    );
  }
  if (!(await openCapsule(room))) await restore(room);
  const capsule = await requireCapsule(room);
  try {
    const { unfinished } = new AgentGit((await capsule.attach()).root);
    if (unfinished !== undefined && !isReviewed)
      throw new HoldfastError("needs_review", `the agent left a ${unfinished} unfinished`, {
        session: session.id,
      });
    const store = await openStore(repo, io.disk);
    const work = await workAgain({ repo, id: session.id }, store, task.snapshot);
    const found = isReviewed ? undefined : await whyToReview(room, store, { base, work });
    if (found) throw new HoldfastError("needs_review", found.reason, { session: session.id });
    const message = await messageOf(room, capsule);
    const commit = { tree: work.tree, base, message, ...(isReviewed && { isReviewed }) };
    return { ...(await publishTree(room, commit)), isNew: true };
  } finally {
    await capsule.detach();
  }
}

/** Publishes the agent's own commits, as it made them, on a branch beside the session's. */
export async function branchCommits(
  room: Room,
  ofBranch: string | undefined,
  { isReviewed = false }: Pick<BranchOptions, "isReviewed"> = {},
): Promise<Branched> {
  const { session } = room;
  assertHasRepo(room);
  const { task, hadValues } = session.state;
  const assertReviewed = (why: string | undefined) => {
    if (why !== undefined && !isReviewed)
      throw new HoldfastError("needs_review", `${why}: ${REVIEW}`, { session: session.id });
  };
  assertReviewed(hadValues ? UNSEARCHED : undefined);
  // The commits may have what a person has yet to look at in the work.
  const isWaiting = task?.outcome === "needs_review" && task.published === null;
  assertReviewed(isWaiting ? `the work of task ${task.number} needs a review` : undefined);
  if (!(await openCapsule(room))) await restore(room);
  const capsule = await requireCapsule(room);
  const branch = `${branchOf(session.state)}-commits`;
  const { base = null, published = null } = task ?? {};
  try {
    const { maxSnapshotBytes: maxBytes } = await currentLimits(room);
    const known = [base, published].filter((id) => id !== null);
    const judge = async (commits: readonly CommitToJudge[], quarantine: Store) =>
      assertReviewed(await judgeCommits(room, quarantine, commits, { base, judged: published }));
    const commit = await publishAgentCommits(capsule, { ofBranch, branch, known, maxBytes, judge });
    await session.append("commits_published", {
      task: task?.number ?? 0,
      branch,
      commit,
      ...(isReviewed && { isReviewed }),
    });
    return { branch, commit, isNew: true };
  } finally {
    await capsule.detach();
  }
}

function assertHasRepo({ session, repo }: Room): void {
  if (repo.isStandIn)
    throw new HoldfastError("no_repo", `session ${session.id} has no repo to make a branch in`, {
      session: session.id,
    });
}
