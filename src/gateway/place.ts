/**
 * Owns the form of what a gate works with: its session and task, their tools, and how people are notified.
 */
import type { JsonObject } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import type { Tool } from "../lane/index.ts";
import type { Session } from "../session/index.ts";
import type { TaskInHand } from "../task/index.ts";

/** The outcome of an action that an earlier process began. */
export type BegunOutcome =
  | {
      readonly kind: "ended";
      readonly outcome: "ok" | "error";
      readonly text: string;
      readonly facts?: JsonObject;
    }
  /** It was begun, and nothing shows what happened. `text`: what its worker said. */
  | { readonly kind: "unknown"; readonly text?: string }
  /** Nothing happened. */
  | { readonly kind: "not_begun" };

export interface GatePlace {
  readonly home: Pick<Home, "dir" | "id" | "io">;
  readonly newId: (prefix: string) => string;
  readonly session: Session;
  readonly task: TaskInHand;
  /**
   * All tools that exist, whatever the lane allows. With a name, only servers that may have it are waited
   * for.
   */
  tools(name?: string): Promise<readonly Tool[]>;
  /** Waits for an action that is still running. */
  outcomeOf(action: string): Promise<BegunOutcome>;
  /** Aborted when the turn has to end. */
  readonly stop: AbortSignal;
  /** How long a call is held for a person while the agent waits. */
  readonly holdMs: number;
  /** Tells people who are watching that a person has to decide. */
  waits(text: string): void;
}
