/**
 * Owns the question which work a session has turned away from: tasks that the next one did not continue,
 * because it began clean, was a retry, or came after a rewind. If some of that work is in no commit that
 * stays, it is reported by its turn.
 */
import { areKept, hasObject, type Repo, treeOf } from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import { readDurable } from "../../journal/index.ts";
import { emptyState, fold, type SessionState } from "../../session/index.ts";

type Task = NonNullable<SessionState["task"]>;

interface History {
  /** The tasks, in the state in which they were left. */
  readonly left: readonly Task[];
  /** Commits that the session published, on any branch. */
  readonly published: readonly string[];
}

/** The last turns of the work that would be lost. `without`: names of branches that will be deleted too. */
export async function turnsLeftBehind(
  repo: Repo,
  dir: string,
  now: SessionState,
  without: readonly string[],
): Promise<number[]> {
  const { left, published } = await historyIn(dir);
  const turns = new Set<number>();
  for (const { snapshot, base } of left) {
    // The session has the same files now, so they are judged as those of its last task.
    if (!snapshot || snapshot.tree === now.task?.snapshot?.tree) continue;
    const isPlain = !published.includes(base ?? "") && (await hasTree(repo, base, snapshot.tree));
    if (!isPlain && !(await isInOneOf(repo, published, snapshot.tree, without))) turns.add(snapshot.turn);
  }
  return [...turns].sort((a, b) => a - b);
}

async function historyIn(dir: string): Promise<History> {
  let left: Task[] = [];
  let published: string[] = [];
  let state = emptyState;
  try {
    for await (const { record } of readDurable(dir)) {
      const before = state.task;
      state = fold(state, record);
      const { type, data } = record;
      if (type === "work_published") published.push(String(data["commit"]));
      // The work that the parent left belongs to the parent.
      if (type === "session_forked") [left, published] = [[], []];
      if (!before || (type !== "session_rewound" && type !== "task_started")) continue;
      const carried = type === "task_started" ? treeIn(data["carried"]) : undefined;
      if (carried !== before.snapshot?.tree) left.push(before);
    }
  } catch (error) {
    // Of a damaged journal, use as much as can be read.
    if (!isHoldfastError(error)) throw error;
  }
  return { left, published };
}

function treeIn(carried: unknown): unknown {
  return typeof carried === "object" && carried !== null && "tree" in carried ? carried.tree : undefined;
}

async function isInOneOf(
  repo: Repo,
  commits: readonly string[],
  tree: string,
  without: readonly string[],
): Promise<boolean> {
  for (const commit of commits)
    if ((await hasTree(repo, commit, tree)) && (await areKept(repo, [commit], { without }))) return true;
  return false;
}

/** A commit that does not exist any more has no tree. */
async function hasTree(repo: Repo, commit: string | null, tree: string): Promise<boolean> {
  if (commit !== null && !(await hasObject(repo, commit))) return false;
  return (await treeOf(repo, commit)) === tree;
}
