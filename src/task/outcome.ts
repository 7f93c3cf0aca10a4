/**
 * Owns what becomes of a task's work: the branch that it is published as, and the commit that the session's next
 * task begins with.
 */
import {
  isMerged,
  isUsersCommit,
  openStore,
  publish,
  publishedBranch,
  resolveCommit,
  treeOf,
  userIdentity,
} from "../capsule/index.ts";
import { isHoldfastError } from "../contract/index.ts";
import type { TaskState } from "../session/index.ts";
import type { Room } from "./room.ts";

export async function publishWork({ session, repo, ports }: Room, commit: string): Promise<string> {
  const number = session.state.task?.number ?? 0;
  const base = session.state.task?.base ?? null;
  const branch = publishedBranch(session.id, number);
  const store = await openStore(repo, ports.disk);
  const identity = await userIdentity(repo);
  await publish({ repo, store, disk: ports.disk, commit, base, branch, session: session.id, identity });
  await session.append("work_published", { task: number, branch, commit });
  return branch;
}

export interface StartingPoint {
  /** The commit that the work is measured against, and published on. */
  readonly base: string | null;
  /** The files, where no commit of the user's repo has them. */
  readonly snapshot?: string;
}

/**
 * A session goes on with its own files: what its last task left. What was published is a commit; what was not is
 * only in its snapshot, and stays there: no other session may read it. When there is nothing, or it is merged, the
 * user's own HEAD has all of it.
 */
export async function startingPoint(
  { session, repo }: Room,
  named: string | undefined,
  snapshot?: string,
): Promise<StartingPoint> {
  const { task } = session.state;
  if (snapshot !== undefined)
    return { base: named === undefined ? null : await resolveCommit(repo, named), snapshot };
  if (named !== undefined || !task?.snapshot) return { base: await resolveCommit(repo, named) };
  // What git gave no answer about is in the snapshot alone, and may be work.
  if (task.snapshot.unanswered > 0) return { base: task.base, snapshot: task.snapshot.commit };
  const isUnchanged = task.snapshot.tree === (await treeOf(repo, task.base));
  const published = isUnchanged ? (task.base ?? undefined) : await publishedCommit(repo, task);
  if (published === undefined)
    return isUnchanged
      ? { base: await resolveCommit(repo) }
      : { base: task.base, snapshot: task.snapshot.commit };
  const isSuperseded =
    (await isMerged(repo, published)) || (isUnchanged && (await isUsersCommit(repo, published)));
  return { base: isSuperseded ? await resolveCommit(repo) : published };
}

/** The commit that has the task's last files, as far as it is still in the repo. */
async function publishedCommit(repo: Room["repo"], task: TaskState): Promise<string | undefined> {
  for (const name of [task.branch, task.published]) {
    const commit = name === null ? undefined : await commitOf(repo, name);
    if (commit !== undefined && (await treeOf(repo, commit)) === task.snapshot?.tree) return commit;
  }
  return undefined;
}

async function commitOf(repo: Room["repo"], name: string): Promise<string | undefined> {
  try {
    return (await resolveCommit(repo, name)) ?? undefined;
  } catch (error) {
    // Merged and deleted, say, or another clone.
    if (isHoldfastError(error, "base_missing")) return undefined;
    throw error;
  }
}
