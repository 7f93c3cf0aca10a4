/**
 * Owns what happens to a task that Holdfast itself can't run: it is refused before it began, or halted after.
 * Both are recorded with an error code, and the task's files stay as they are.
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

/** The task did not begin. A task that was paused before it began stays in the queue. */
export async function refuseTask(
  { home, session, request }: Failing,
  error: unknown,
  { isPaused }: { readonly isPaused: boolean },
): Promise<void> {
  const { code, message } = expected(await located(home, session, error));
  if (isPaused) return;
  // It may have been cancelled just now.
  await session.settled();
  if (session.state.queue.every((one) => one.request !== request)) return;
  await session.append("task_refused", { request, code, reason: message });
}

/** The task's results can't be saved properly. Records the reason, and leaves its files as they are. */
export async function halt({ home, session }: Failing, error: unknown): Promise<void> {
  const { code, message } = expected(await located(home, session, error));
  const task = session.state.task?.number;
  if (task !== undefined) await session.append("task_halted", { task, code, reason: message });
}

/** If a damaged snapshot is the cause, that is the error to report. */
async function located(home: Home, session: Session, error: unknown): Promise<unknown> {
  return (await locateDamage(home, keeperOf(home, session), error)) ?? error;
}

/**
 * The code and message of a failure. A failure after which nothing can be recorded ends the session process.
 */
function expected(error: unknown): { readonly code: string; readonly message: string } {
  if (isDiskFull(error)) return { code: "disk_full", message: "the disk is full" };
  if (!isHoldfastError(error))
    return { code: "bug", message: error instanceof Error ? error.message : String(error) };
  if (FATAL.includes(error.code)) throw error;
  return error;
}

/** After these, nothing can be recorded any more. */
const FATAL: readonly string[] = ["append_failed", "session_taken_over", "session_released"];
