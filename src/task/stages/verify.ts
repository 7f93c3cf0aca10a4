/**
 * Owns the stage in which the checks decide: on exactly the tree that would be published, with nothing of the agent's
 * alive. What they said is on record with the tree.
 *
 * What a kill leaves: receipts without a verdict, and the room that the checks ran in, which the next attempt clears
 * away. The checks run again. Where the verdict on this tree is on record, they don't.
 */
import type { Verdict } from "../../contract/index.ts";
import type { Checkpoint } from "../files/checkpoint.ts";
import type { TaskInHand } from "../in-hand.ts";
import { readConfig } from "../room/config.ts";
import { verifyTree } from "../verify/verify-tree.ts";

/** Undefined: it was stopped from outside, and goes on later. */
export async function verify(
  { room, number: task, base, capsule, network }: TaskInHand,
  { work }: Checkpoint,
  stop: AbortSignal,
): Promise<Verdict | undefined> {
  const { session } = room;
  const known = session.state.task?.verified;
  if (known?.tree === work.tree) return known.verdict;
  const { checks } = await readConfig(room, base);
  if (checks.length === 0) return (await verifyTree(room, { tree: work.tree, base }, stop))?.verdict;
  // Nothing of the task runs from here on: what it has is in the checkpoint.
  await network.close();
  await capsule.detach();
  await session.append("stage_started", { task, stage: "verify" });
  const verification = await verifyTree(room, { tree: work.tree, base }, stop);
  if (!verification) return undefined;
  const { verdict: outcome } = verification;
  await session.append("stage_ended", { task, stage: "verify", outcome });
  return outcome;
}
