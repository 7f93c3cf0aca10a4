/**
 * Owns what the session pushed to a branch of a remote, according to its journal, and what the next push
 * stands on.
 *
 * push-3 A push stands on what the session last pushed to that branch, so it never needs force. If the history
 *    of the task's base is not below that, it is refused before a person is asked.
 */
import { isAncestor, type Repo, readCommit, type Store } from "../capsule/index.ts";
import { HoldfastError, type JournalRecord, type JsonObject } from "../contract/index.ts";
import { readRecords } from "../session/index.ts";
import type { TaskInHand } from "../task/index.ts";
import { isPlainObject } from "../util/index.ts";

/** The facts of a push that succeeded. */
export interface PushFacts {
  readonly url: string;
  readonly branch: string;
  readonly commit: string;
}

export interface Footing {
  /** The commit that the push stands on, and its tree. */
  readonly parent: string | null;
  /** The tree of the parent, if the session pushed it to that branch before; otherwise null. */
  readonly pushedTree: string | null;
  /** The user's own commit below it. */
  readonly root: string | null;
  /** When the task began. A commit of the same work is the same commit, whenever it is made. */
  readonly atMs: number;
}

/** Fails with `tool_failed` if the branch can't get this work without force. */
export async function footingOf(
  { room: { repo, sessionDir }, number, base }: Pick<TaskInHand, "room" | "number" | "base">,
  store: Store,
  to: Omit<PushFacts, "commit">,
): Promise<Footing> {
  const { pushed, made, atMs } = await readPushes(sessionDir, number, to);
  const onBase = { parent: base, pushedTree: null, root: base, atMs };
  if (pushed === undefined || pushed === base) return onBase;
  if (base !== null && (await isAncestor(repo, pushed, base))) return onBase;
  const below = async (commit: string | null) => rootOf(repo, store, made, commit);
  const [root, baseRoot, last] = await Promise.all([
    below(pushed),
    below(base),
    readCommit(repo, store, pushed),
  ]);
  if (!last || root === undefined || !(await contains(repo, root, baseRoot)))
    throw new HoldfastError(
      "tool_failed",
      `${to.branch} was last pushed as ${pushed}, and this work is not based on it: push to another branch`,
    );
  return { parent: pushed, pushedTree: last.tree, root, atMs };
}

/** The commit that the session pushed there last, and its tree. */
export async function lastPushed(
  { room: { repo, sessionDir }, number }: Pick<TaskInHand, "room" | "number">,
  store: Store,
  to: Omit<PushFacts, "commit">,
): Promise<{ readonly commit: string; readonly tree: string | undefined } | undefined> {
  const { pushed } = await readPushes(sessionDir, number, to);
  return pushed === undefined
    ? undefined
    : { commit: pushed, tree: (await readCommit(repo, store, pushed))?.tree };
}

/** What the session pushed there last, all commits that Holdfast made for it, and when the task began. */
async function readPushes(sessionDir: string, number: number, to: Omit<PushFacts, "commit">) {
  const made = new Set<string>();
  const pushes = new Set<string>();
  let pushed: string | undefined;
  let atMs = 0;
  for await (const record of readRecords(sessionDir)) {
    const { type, data, at } = record;
    const call = String(data["call"]);
    if (type === "task_started" && data["task"] === number) atMs = Date.parse(at);
    else if (type === "work_published") made.add(String(data["commit"]));
    else if (type === "tool_called") data["tool"] === "git_push" ? pushes.add(call) : pushes.delete(call);
    const facts = pushIn(record, pushes.has(call));
    if (!facts) continue;
    made.add(facts.commit);
    if (facts.url === to.url && facts.branch === to.branch) pushed = facts.commit;
  }
  return { pushed, made, atMs };
}

/** An action that was approved has a record of its own; of others there is only the call. */
function pushIn({ type, data }: JournalRecord, isOfPush: boolean): PushFacts | undefined {
  const isPush = type === "action_ended" ? data["tool"] === "git_push" : type === "tool_returned" && isOfPush;
  const facts = isPush && data["outcome"] === "ok" && isPlainObject(data["facts"]) ? data["facts"] : {};
  const { url, branch, commit } = facts as JsonObject;
  if (typeof url !== "string" || typeof branch !== "string" || typeof commit !== "string") return undefined;
  return { url, branch, commit };
}

/** The first commit below that is not one of Holdfast's; undefined if one on the way is not here. */
async function rootOf(
  repo: Repo,
  store: Store,
  made: ReadonlySet<string>,
  commit: string | null,
): Promise<string | null | undefined> {
  if (commit === null || !made.has(commit)) return commit;
  const read = await readCommit(repo, store, commit);
  return read && rootOf(repo, store, made, read.parent);
}

/** Both are the user's commits. */
async function contains(repo: Repo, root: string | null, other: string | null | undefined) {
  if (other === undefined) return false;
  return other === root || other === null || (root !== null && (await isAncestor(repo, other, root)));
}
