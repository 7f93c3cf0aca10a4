/**
 * Owns the end of an agent's process that has nothing left to do: it mostly goes by itself.
 */
import type { AgentProcess } from "./adapter.ts";

/** One that was told that nothing more comes, and stays all the same, is ended. */
const LEAVE_MS = 5_000;

/** `whenOver` resolves when it was told. */
export async function endIfItStays(process: AgentProcess, whenOver: Promise<void>): Promise<void> {
  await whenOver;
  const leave = setTimeout(() => process.end(), LEAVE_MS);
  process.ended.finally(() => clearTimeout(leave)).catch(() => {});
}
