/**
 * Owns the stage in which the checks decide. They run on exactly the tree that would be published, with none
 * of the agent's processes alive. Their results are recorded with the tree.
 *
 * What a kill leaves: receipts without a verdict, and the room that the checks ran in, which the next attempt
 * removes. The checks run again, unless a verdict on this tree is on record.
 */
import type { Verdict } from "../../contract/index.ts";
import type { Checkpoint } from "../files/checkpoint.ts";
import type { TaskInHand } from "../in-hand.ts";
import { readConfig } from "../room/config.ts";
import { clearExactFiles } from "../verify/exact-files.ts";
import { verifyTree } from "../verify/verify-tree.ts";

/** Undefined: it was stopped from outside, and goes on later. */
export async function verify(
  { room, number: task, base, capsule, network }: TaskInHand,
  { work }: Checkpoint,
  stop: AbortSignal,
): Promise<Verdict | undefined> {
  const { session } = room;
  const known = session.state.task?.verified;
  if (known?.tree === work.tree) {
    await clearExactFiles(room);
    return known.verdict;
  }
  const { checks } = await readConfig(room, base);
  if (checks.length === 0) return (await verifyTree(room, { tree: work.tree, base }, stop))?.verdict;
  // From here on no process of the task runs. Its files are in the checkpoint.
  await network.close();
  await capsule.detach();
  await session.append("stage_started", { task, stage: "verify" });
  const verification = await verifyTree(room, { tree: work.tree, base }, stop);
  if (!verification) return undefined;
  const { verdict: outcome } = verification;
  await session.append("stage_ended", { task, stage: "verify", outcome });
  return outcome;
}
