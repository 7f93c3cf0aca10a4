/**
 * Owns the last stage: what a task leaves is kept. Checkpoint, patch, the branch if it succeeded, and its end on
 * record. The capsule stays, and costs no process.
 *
 * What a kill leaves: a snapshot, a patch or a commit more, and no `task_ended`. All of it is made again, the same;
 * whether the branch was moved is known by its intent (`publishing.ts`).
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
import { writeReports } from "../results/reports.ts";
import { valuesBefore, valuesInWork } from "../results/values.ts";
import { writeChecks } from "../verify/checks-file.ts";

/** What a task comes to this stage with: nothing of it runs, and its files are those of the checkpoint. */
export interface ToPersist {
  readonly asked: AskedOutcome;
  readonly checkpoint: Checkpoint;
  /** What the checks said of its tree; undefined where it was not asked to be done, or has changed nothing. */
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
  if (verdict !== undefined && verdict !== "unverified")
    await writeChecks(room, { task: number, tree: work.tree });
  const stat = await statOf(repo, store, before, work.tree);
  tellStep(io.onProgress, "publishing the work");
  const own = new AgentGit((await capsule.attach()).root);
  const hasWork = stat.files > 0;
  const found = hasWork ? await valuesInWork(room, store, base, work) : undefined;
  const toReview = async () =>
    reviewOf(session.state, hasWork, own.unfinished) ??
    (hasWork ? await applyPolicy(room, store, { base, tree: work.tree }) : undefined);
  // A value that was found stays found, whatever the checks say.
  const why =
    found ?? (verdict === "failed" ? checksFailed : asked === "done" ? await toReview() : undefined);
  const outcome = outcomeOf(asked, verdict, why !== undefined);
  const { branch, unpublished } =
    (outcome === "done" || outcome === "unverified") && hasWork
      ? await publishOrSay(room, { tree: work.tree, base, message: await messageOf(room, capsule) })
      : { branch: null, unpublished: why ?? null };
  await writeReports(task, { outcome, stat, branch, unpublished });
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

/** What its agent's end, the checks and the policy add up to. */
function outcomeOf(asked: AskedOutcome, verdict: Verdict | undefined, isHeld: boolean): TaskEnd["outcome"] {
  if (asked !== "done") return asked;
  if (verdict === "failed") return "failed";
  if (isHeld) return "needs_review";
  return verdict === "unverified" ? "unverified" : "done";
}

const checksFailed: Unpublished = {
  code: "checks_failed",
  reason: "checks failed on this tree: holdfast checks shows them",
};

/** Why a person has to look at work that is done. */
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
  reason: `the agent left a ${what} unfinished: look at it, then say holdfast branch --reviewed`,
});
