/**
 * Owns the end of an agent's process: one that has nothing left to do mostly goes by itself. What is said of one that
 * failed stands here too.
 */
import { isHoldfastError } from "../contract/index.ts";
import type { AgentProcess, ProcessEnd } from "./adapter.ts";

/** One that was told that nothing more comes, and stays all the same, is ended. */
const LEAVE_MS = 5_000;
/** As a shell has it: 128 and the number of SIGKILL. */
const KILLED = 137;

/** `whenOver` resolves when it was told. */
export async function endIfItStays(process: AgentProcess, whenOver: Promise<void>): Promise<void> {
  await whenOver;
  const leave = setTimeout(() => process.end(), LEAVE_MS);
  process.ended.finally(() => clearTimeout(leave)).catch(() => {});
}

/** Of one that ended before it had answered. */
export function earlyEnd({ exitCode, signal }: Pick<ProcessEnd, "exitCode" | "signal">): string {
  const isKilled = exitCode === KILLED || signal === "SIGKILL";
  const how = exitCode === null ? (signal ?? "for no reason that is known") : `exit ${exitCode}`;
  const why = isKilled ? ": it was killed, perhaps because memory was short" : "";
  return `The agent ended before it had answered (${how}${why}).`;
}

/** In words, where what the agent wrote can't be read or recorded; any other failure is thrown again. */
export function ownFailure(error: unknown): string {
  if (isHoldfastError(error, "agent_failed")) return `The agent was ended: ${error.message}.`;
  if (isHoldfastError(error, "invalid_data") || isHoldfastError(error, "record_too_large"))
    return `The agent was ended: it broke its protocol (${error.message}).`;
  throw error;
}
