/**
 * Owns what becomes of a task that fails for a reason of ours: refused before it began, halted after. Both are said
 * with a code, and what it left stays as it is.
 */
import { isHoldfastError } from "../../contract/index.ts";
import type { Home } from "../../home/index.ts";
import type { Session } from "../../session/index.ts";
import { isDiskFull } from "../../util/index.ts";
import { locateDamage } from "../files/snapshot-damage.ts";
import { keeperOf } from "../session/tasks.ts";

interface Failing {
  readonly home: Home;
  readonly session: Session;
  readonly request: string;
}

/** It did not begin. One that was paused before it could goes on waiting. */
export async function refuseTask(
  { home, session, request }: Failing,
  error: unknown,
  { isPaused }: { readonly isPaused: boolean },
): Promise<void> {
  const { code, message } = expected(await located(home, session, error));
  if (isPaused) return;
  // It may have been taken back just then.
  await session.settled();
  if (session.state.queue.every((one) => one.request !== request)) return;
  await session.append("task_refused", { request, code, reason: message });
}

/** What it left can't be kept as it should: said, and left as it is. */
export async function halt({ home, session }: Failing, error: unknown): Promise<void> {
  const { code, message } = expected(await located(home, session, error));
  const task = session.state.task?.number;
  if (task !== undefined) await session.append("task_halted", { task, code, reason: message });
}

/** Where a damaged snapshot was the reason, that is what is said. */
async function located(home: Home, session: Session, error: unknown): Promise<unknown> {
  return (await locateDamage(home, keeperOf(home, session), error)) ?? error;
}

/** What can be said of a failure. One that leaves nothing to record with ends the session process. */
function expected(error: unknown): { readonly code: string; readonly message: string } {
  if (isDiskFull(error)) return { code: "disk_full", message: "the disk is full" };
  if (!isHoldfastError(error))
    return { code: "bug", message: error instanceof Error ? error.message : String(error) };
  if (FATAL.includes(error.code)) throw error;
  return error;
}

/** Nothing can be recorded any more. */
const FATAL: readonly string[] = ["append_failed", "session_taken_over", "session_released"];
