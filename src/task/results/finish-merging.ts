/**
 * Owns completing a merge that was cut off before its record: the branch, or the files of the checkout that
 * is on it, show whether it was done.
 */
import { finishMove, userIdentity } from "../../capsule/index.ts";
import type { Room } from "../room/room.ts";
import { lastIntent } from "./intent.ts";

/** For the reflog of the branch. */
export const mergeReason = (ownBranch: string) => `holdfast: merged ${ownBranch}`;

/**
 * Returns whether a merge was completed. A merge that never reached the branch is left alone, because it
 * changed nothing.
 */
export async function finishMerging(room: Room): Promise<boolean> {
  const { session, repo, io } = room;
  const { task, merging, branch } = session.state;
  if (!task || !merging) return false;
  const { into, commit, from } = merging;
  const identity = await userIdentity(repo);
  const reason = mergeReason(branch?.name ?? session.id);
  if (!(await finishMove({ repo, disk: io.disk, branch: into, commit, reason, identity }))) return false;
  const intent = await lastIntent(room, "merge_started");
  await session.append("work_merged", { ...intent, task: task.number, into, commit, from });
  return true;
}
