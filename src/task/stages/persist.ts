/**
 * Owns the last stage: what a task leaves is kept. Checkpoint, patch, the branch if it succeeded, and its end on
 * record. The capsule stays, and costs no process.
 *
 * What a kill leaves: a snapshot, a patch or a commit more, and no `task_ended`. All of it is made again, the same;
 * whether the branch was moved is known by its intent (`publishing.ts`).
 */
import { AgentGit, statOf, treeOf, writePatch } from "../../capsule/index.ts";
import type { SessionState } from "../../session/index.ts";
import { present, tellStep } from "../../util/index.ts";
import type { Checkpoint } from "../files/checkpoint.ts";
import type { TaskEnd, TaskInHand } from "../in-hand.ts";
import { writeArtifact } from "../results/artifact.ts";
import { messageOf, publishOrSay, type Unpublished } from "../results/publishing.ts";
import { valuesBefore, valuesInWork } from "../results/values.ts";

/** `at`: a checkpoint behind which nothing was written, for certain. */
export async function persist(
  task: TaskInHand,
  asked: TaskEnd["outcome"],
  at: Checkpoint | undefined,
): Promise<TaskEnd> {
  await task.network.close();
  // What still runs could write after the snapshot.
  if (!at) await task.capsule.detach();
  try {
    return await keep(task, asked, at ?? (await task.checkpoint()));
  } finally {
    await task.capsule.detach();
  }
}

async function keep(
  task: TaskInHand,
  asked: TaskEnd["outcome"],
  { snapshot, work }: Checkpoint,
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
  const review = found ?? (asked === "done" ? reviewOf(session.state, hasWork, own.unfinished) : undefined);
  const outcome = asked === "done" && review ? "needs_review" : asked;
  const { branch, unpublished } =
    outcome === "done" && hasWork
      ? await publishOrSay(room, { tree: work.tree, base, message: await messageOf(room, capsule) })
      : { branch: null, unpublished: review ?? null };
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
