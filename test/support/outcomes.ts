/**
 * How tasks of tests end well: most of their repos name no checks.
 */
interface Ended {
  readonly outcome: string | null;
}

/** Done, verified or not. */
export const isDone = (task: Ended | null | undefined): boolean =>
  task?.outcome === "done" || task?.outcome === "unverified";
