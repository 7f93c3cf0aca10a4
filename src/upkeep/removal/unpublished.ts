/**
 * Owns the question which work would be lost with a session: work that is in no commit of the user's repo
 * that stays. It does not judge files that git ignores, or HOME.
 */
import { areKept, CapsuleDir, hasObject, listTips, treeOf } from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import { type FoundSession, type Home, repoOf } from "../../home/index.ts";
import type { SessionState } from "../../session/index.ts";
import { commitBelow } from "../../task/index.ts";
import { capsuleDir } from "../../util/index.ts";
import { turnsLeftBehind } from "./left-behind.ts";

/**
 * A text for each kind of work that would be lost. `without`: branches that will be deleted too, with their
 * tips.
 */
export async function unpublishedWork(
  home: Home,
  { id, dir }: Pick<FoundSession, "id" | "dir">,
  state: SessionState,
  without: readonly { readonly name: string; readonly tip: string }[] = [],
): Promise<string[]> {
  const { task } = state;
  if (!task) return [];
  const lost = (await isSettled(dir, task)) ? [] : ["files that may have changed since its last checkpoint"];
  if (!task.snapshot && !state.branch && state.turns === 0) return lost;
  const names = without.map(({ name }) => name);
  try {
    const repo = await repoOf(home, state);
    for (const turn of await turnsLeftBehind(repo, dir, state, names))
      lost.push(`the work of turn ${turn}, which a later task did not continue`);
    if (task.snapshot && task.snapshot.tree !== (await treeOf(repo, await commitBelow(repo, task))))
      lost.push(`the work of turn ${task.snapshot.turn}`);
    const unanswered = task.snapshot?.unanswered ?? 0;
    if (unanswered > 0) lost.push(`${unanswered} files for which git did not report whether they are work`);
    const tips = (await listTips(repo)).filter(({ session }) => session === id).map(({ commit }) => commit);
    const commits = [task.published, ...tips, ...without.map(({ tip }) => tip)];
    const there = await thereOf(repo, commits);
    if (!(await areKept(repo, there, { without: [] }))) lost.push("commits that no other branch or tag has");
    else if (!(await areKept(repo, there, { without: names })))
      lost.push(`commits that are only in ${names.join(" and ")}, which is to be deleted too`);
    return lost;
  } catch (error) {
    // The repo or the base does not exist any more, so it is unknown whether the work is in it.
    if (!isHoldfastError(error)) throw error;
    return [...lost, `work that can't be looked for in its repo: ${error.message}`];
  }
}

type Task = NonNullable<SessionState["task"]>;

/** Whether its snapshot has all files of its capsule. */
async function isSettled(dir: string, { number, snapshot }: Task): Promise<boolean> {
  const spec = await new CapsuleDir(capsuleDir(dir, number)).readSpec().catch(() => undefined);
  return !spec?.isWhole || (snapshot !== null && spec.settled === snapshot.commit);
}

async function thereOf(
  repo: Parameters<typeof hasObject>[0],
  commits: readonly (string | null)[],
): Promise<string[]> {
  const there: string[] = [];
  // The work of a commit that is gone from the repo is measured by the files of the snapshot.
  for (const commit of commits) if (commit !== null && (await hasObject(repo, commit))) there.push(commit);
  return there;
}
