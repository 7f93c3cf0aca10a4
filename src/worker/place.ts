/**
 * Owns the form of what external tools need: the home, and the task that they are called from.
 */
import type { Home } from "../home/index.ts";
import type { TaskInHand } from "../task/index.ts";

export interface ActingPlace {
  readonly home: Pick<Home, "dir" | "id" | "io">;
  readonly task: TaskInHand;
}
