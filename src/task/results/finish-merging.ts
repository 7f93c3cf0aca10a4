/**
 * Owns the end of a merge whose record was cut off: the branch, or the files of the checkout that is on it, tell
 * whether it was done.
 */
import { finishMove, userIdentity } from "../../capsule/index.ts";
import type { Room } from "../room/room.ts";

/** For the log of the branch. */
export const mergeReason = (ownBranch: string) => `holdfast: merged ${ownBranch}`;

/** Says whether one was finished. One that never came to the branch is left as it is: nothing was changed by it. */
export async function finishMerging({ session, repo, io }: Room): Promise<boolean> {
  const { task, merging, branch } = session.state;
  if (!task || !merging) return false;
  const { into, commit, from } = merging;
  const identity = await userIdentity(repo);
  const reason = mergeReason(branch?.name ?? session.id);
  if (!(await finishMove({ repo, disk: io.disk, branch: into, commit, reason, identity }))) return false;
  await session.append("work_merged", { task: task.number, into, commit, from });
  return true;
}
