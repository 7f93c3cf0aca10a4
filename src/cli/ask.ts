/**
 * Owns the question that a verb asks before it ends something. It goes to stderr and is answered on stdin,
 * and is asked only if both are a terminal. Without a terminal the verb is refused, because it could not be
 * answered. Nothing has changed before the answer.
 */
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { HoldfastError } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { isInForeground } from "../process/index.ts";
import { plural } from "./amounts.ts";
import { type CommonOptions, scope } from "./verb.ts";
import type { NamedSession } from "./which-session.ts";

export interface ForceOptions {
  readonly force?: boolean;
}

export function withForce(command: Command): Command {
  return command.option("--force", "do not ask, even if its agent is running");
}

export const canAsk = () => process.stdin.isTTY === true && process.stderr.isTTY === true && isInForeground();

/** Only y or yes counts as yes. The end of the input counts as no; Ctrl-C ends the verb. */
export async function ask(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin });
  let onInterrupt = () => {};
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      onInterrupt = () => reject(stopped({ isSignal: true }));
      process.once("SIGINT", onInterrupt);
      lines.once("line", resolve).once("close", () => resolve(""));
      process.stderr.write(`${question} [y/N] `);
    });
    return /^\s*y(es)?\s*$/i.test(answer);
  } catch (error) {
    process.stderr.write("\n");
    throw error;
  } finally {
    process.off("SIGINT", onInterrupt);
    lines.close();
    process.stdin.pause();
  }
}

/** For a no, or for a signal in place of an answer. */
export const stopped = (facts: { readonly isSignal?: boolean } = {}) =>
  new HoldfastError("interrupted", "nothing was changed", facts);

export interface Ending {
  /** The words for the question: "close it". */
  readonly what: string;
  /** Whether the verb keeps waiting tasks of the session from beginning. */
  readonly dropsQueue?: boolean;
}

/** Asks before a verb ends a running agent. Returns at once if none is running. */
export async function confirmEnding(
  dispatcher: Dispatcher,
  { id, label }: NamedSession,
  { what, dropsQueue = false }: Ending,
  options: CommonOptions & ForceOptions,
): Promise<void> {
  if (options.force) return;
  const { isRunning, queued } = await dispatcher.underWay(id, scope(options));
  const losses = [
    ...(isRunning ? [`the agent of ${label} is running`] : []),
    ...(dropsQueue && queued > 0 ? [`${plural(queued, "task")} of ${label} would never begin`] : []),
  ];
  if (losses.length === 0) return;
  const loss = losses.join(", and ");
  if (!canAsk()) throw new HoldfastError("agent_running", loss, { session: id });
  if (!(await ask(`${loss}; ${what} anyway?`))) throw stopped();
}
