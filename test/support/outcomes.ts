/**
 * The good outcomes of tasks in tests. `unverified` is one, because most of the repos name no checks.
 */
interface Ended {
  readonly outcome: string | null;
}

/** Done, verified or not. */
export const isDone = (task: Ended | null | undefined): boolean =>
  task?.outcome === "done" || task?.outcome === "unverified";
