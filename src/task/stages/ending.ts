/**
 * Owns the end of a task whose agent has ended: a checkpoint of its files with no process running, then the
 * checks, then saving its results. It is the same for a task that a session process runs and for one that a
 * harness ends itself.
 */
import { treeOf } from "../../capsule/index.ts";
import type { Checkpoint } from "../files/checkpoint.ts";
import type { AskedOutcome, TaskEnd, TaskInHand } from "../in-hand.ts";
import { persist } from "./persist.ts";
import { verify } from "./verify.ts";

export interface EndOptions {
  /** A checkpoint after which nothing was written. */
  readonly at?: Checkpoint | undefined;
  /** Stops the checks. */
  readonly stop?: AbortSignal | undefined;
  /** Called before anything is saved. */
  readonly onPersist?: () => void;
}

/** Undefined: the checks were stopped, and the task goes on with them later. */
export async function endTask(
  task: TaskInHand,
  asked: AskedOutcome,
  { at, stop = new AbortController().signal, onPersist = () => {} }: EndOptions = {},
): Promise<TaskEnd | undefined> {
  await task.network.close();
  // A process that still runs could write after the snapshot.
  if (!at) await task.endProcesses();
  const checkpoint = at ?? (await task.checkpoint());
  const hasWork = checkpoint.work.tree !== (await treeOf(task.room.repo, task.base));
  const isToVerify = asked === "done" && hasWork;
  const verdict = isToVerify ? await verify(task, checkpoint, stop) : undefined;
  if (isToVerify && verdict === undefined) {
    await task.capsule.detach();
    return undefined;
  }
  onPersist();
  return persist(task, { asked, checkpoint, verdict });
}
