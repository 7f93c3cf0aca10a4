/**
 * Owns the last stage, in which a task's results are saved: checkpoint, patch, the branch if the task
 * succeeded, and the record of its end. The capsule stays, and needs no process.
 *
 * What a kill leaves: perhaps a snapshot, a patch or a commit, and no `task_ended`. All of them are made
 * again, with the same content. The recorded intent tells whether the branch was moved (`publishing.ts`).
 */
import { AgentGit, statOf, treeOf, writePatch } from "../../capsule/index.ts";
import type { Verdict } from "../../contract/index.ts";
import type { SessionState } from "../../session/index.ts";
import { present, tellStep } from "../../util/index.ts";
import type { Checkpoint } from "../files/checkpoint.ts";
import type { AskedOutcome, TaskEnd, TaskInHand } from "../in-hand.ts";
import { writeArtifact } from "../results/artifact.ts";
import { applyPolicy } from "../results/policy.ts";
import { messageOf, publishOrSay, type Unpublished } from "../results/publishing.ts";
import { writeTaskArtifacts } from "../results/task-artifacts.ts";
import { valuesBefore, valuesInWork } from "../results/values.ts";

/**
 * The task at the beginning of this stage: no process of it runs, and its files are those of the checkpoint.
 */
export interface ToPersist {
  readonly asked: AskedOutcome;
  readonly checkpoint: Checkpoint;
  /** What the checks found for its tree; undefined when it did not end as done, or changed nothing. */
  readonly verdict: Verdict | undefined;
}

export async function persist(task: TaskInHand, of: ToPersist): Promise<TaskEnd> {
  try {
    return await keep(task, of);
  } finally {
    await task.capsule.detach();
  }
}

async function keep(
  task: TaskInHand,
  { asked, checkpoint: { snapshot, work }, verdict }: ToPersist,
): Promise<TaskEnd> {
  const { room, number, base, capsule } = task;
  const { session, repo, sessionDir, io } = room;
  const store = await capsule.store();
  tellStep(io.onProgress, "writing the patch");
  const before = await treeOf(repo, base);
  const patch = await writeArtifact(
    { session, sessionDir, disk: io.disk },
    { task: number, name: "change.patch" },
    async (path) => {
      await writePatch(repo, store, before, work.tree, path);
      return {};
    },
  );
  const stat = await statOf(repo, store, before, work.tree);
  tellStep(io.onProgress, "publishing the work");
  const own = new AgentGit((await capsule.attach()).root);
  const hasWork = stat.files > 0;
  const found = hasWork ? await valuesInWork(room, store, base, work) : undefined;
  const toReview = async () =>
    reviewOf(session.state, hasWork, own.unfinished) ??
    (hasWork ? await applyPolicy(room, store, { base, tree: work.tree, stat }) : undefined);
  // Checks that pass do not clear a value that was found.
  const why =
    found ?? (verdict === "failed" ? checksFailed : asked === "done" ? await toReview() : undefined);
  const outcome = outcomeOf(asked, verdict, why !== undefined);
  const { branch, unpublished } =
    (outcome === "done" || outcome === "unverified") && hasWork
      ? await publishOrSay(room, { tree: work.tree, base, message: await messageOf(room, capsule) })
      : { branch: null, unpublished: why ?? null };
  const verified = verdict === undefined ? null : work.tree;
  await writeTaskArtifacts(task, { outcome, stat, branch, unpublished, verified });
  await session.append("task_ended", {
    task: number,
    outcome,
    files: stat.files,
    insertions: stat.insertions,
    deletions: stat.deletions,
    ...present({ head: own.head.commit }),
    ...(unpublished && { unpublished: { ...unpublished } }),
  });
  await task.rest();
  return {
    task: number,
    outcome,
    snapshot: snapshot.commit,
    tree: work.tree,
    stat,
    patch,
    branch,
    unpublished,
    omitted: snapshot.manifest.omitted.map(({ path }) => path),
  };
}

/** The outcome that the agent's end, the checks and the policy result in. */
function outcomeOf(asked: AskedOutcome, verdict: Verdict | undefined, isHeld: boolean): TaskEnd["outcome"] {
  if (asked !== "done") return asked;
  if (verdict === "failed") return "failed";
  if (isHeld) return "needs_review";
  return verdict === "unverified" ? "unverified" : "done";
}

const checksFailed: Unpublished = {
  code: "checks_failed",
  reason: "the checks failed on this tree: holdfast checks shows which",
};

/** Why a person has to review finished work. */
function reviewOf(
  state: SessionState,
  isToPublish: boolean,
  unfinished: string | undefined,
): Unpublished | undefined {
  if (unfinished !== undefined) return leftUnfinished(unfinished);
  return isToPublish ? valuesBefore(state) : undefined;
}

const leftUnfinished = (what: string): Unpublished => ({
  code: "unfinished",
  reason: `the agent left a ${what} unfinished: review the work, then publish it with holdfast branch --reviewed`,
});
