/**
 * Owns the end of an agent's process, which mostly ends by itself when it has nothing left to do. It also
 * owns the messages about an agent that failed.
 */
import { isHoldfastError } from "../contract/index.ts";
import type { AgentProcess, ProcessEnd } from "./adapter.ts";

/** How long an agent that gets no more input may take to end by itself. */
const LEAVE_MS = 5_000;
/** The exit status that a shell reports: 128 plus the number of SIGKILL. */
const KILLED = 137;

/** `whenOver` resolves when it gets no more input. */
export async function endIfItStays(process: AgentProcess, whenOver: Promise<void>): Promise<void> {
  await whenOver;
  const leave = setTimeout(() => process.end(), LEAVE_MS);
  process.ended.finally(() => clearTimeout(leave)).catch(() => {});
}

/** For an agent that ended before it answered. */
export function earlyEnd({ exitCode, signal }: Pick<ProcessEnd, "exitCode" | "signal">): string {
  const isKilled = exitCode === KILLED || signal === "SIGKILL";
  const how = exitCode === null ? (signal ?? "for an unknown reason") : `exit ${exitCode}`;
  const why = isKilled ? ": it was killed, perhaps because memory was short" : "";
  return `The agent ended before it had answered (${how}${why}).`;
}

/** The message when an agent's output can't be read or recorded. Any other failure is thrown again. */
export function ownFailure(error: unknown): string {
  if (isHoldfastError(error, "agent_failed")) return `The agent was ended: ${error.message}.`;
  if (isHoldfastError(error, "invalid_data") || isHoldfastError(error, "record_too_large"))
    return `The agent was ended: it broke its protocol (${error.message}).`;
  throw error;
}
