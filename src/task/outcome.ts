/**
 * Owns what becomes of a task's work: the branch that it is published as, and the commit that the session's next
 * task begins with.
 */
import {
  holdCommit,
  isMerged,
  isUsersCommit,
  openStore,
  publish,
  publishedBranch,
  resolveCommit,
  shareCommit,
  treeOf,
  userIdentity,
} from "../capsule/index.ts";
import { isHoldfastError } from "../contract/index.ts";
import { workAgain } from "./checkpoint.ts";
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

/**
 * A session goes on with its own files: what its last task left, published or not. Undefined when there is nothing,
 * or it is merged: then the user's own HEAD has it.
 */
export async function lastWork({ session, repo, ports }: Room): Promise<string | undefined> {
  const { task } = session.state;
  if (!task?.snapshot) return undefined;
  if (task.snapshot.tree === (await treeOf(repo, task.base)))
    return task.base === null || (await isUsersCommit(repo, task.base)) ? undefined : task.base;
  const published = task.branch === null ? undefined : await commitOf(repo, task.branch);
  const isSame = published !== undefined && (await treeOf(repo, published)) === task.snapshot.tree;
  if (isSame) return (await isMerged(repo, published)) ? undefined : published;
  const store = await openStore(repo, ports.disk);
  const { commit } = await workAgain({ repo, id: session.id, state: session.state }, store, task.snapshot);
  await shareCommit(repo, store, commit, task.base);
  await holdCommit(repo, commit);
  return commit;
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
