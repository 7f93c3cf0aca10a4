/**
 * Owns completing a merge that was cut off before its record: the branch, or the files of the checkout that
 * is on it, show whether it was done.
 */
import { finishMove, userIdentity } from "../../capsule/index.ts";
import type { Room } from "../room/room.ts";
import { lastIntent } from "./intent.ts";

/** For the reflog of the branch. */
export const mergeReason = (ownBranch: string) => `holdfast: merged ${ownBranch}`;

/** A merge that never reached the branch is given up, so that it is not looked for again. */
export async function finishMerging(room: Room): Promise<void> {
  const { session, repo, io } = room;
  const { task, merging, branch } = session.state;
  if (!task || !merging) return;
  const { into, commit, from } = merging;
  const identity = await userIdentity(repo);
  const reason = mergeReason(branch?.name ?? session.id);
  const isMoved = await finishMove({ repo, disk: io.disk, branch: into, commit, reason, identity });
  if (isMoved === undefined) return;
  const merge = { task: task.number, into, commit, from };
  if (isMoved) {
    const intent = await lastIntent(room, "merge_started");
    await session.append("work_merged", { ...intent, ...merge });
  } else await session.append("merge_given_up", { task: merge.task, into, commit });
}
