/**
 * Owns the question what would be cut off, or would not begin, if a session's process were ended now. A
 * session at rest loses nothing, and neither does one whose process has nothing left to do.
 */
import { HoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { hasProcess, readPlace } from "../line/index.ts";
import { idOf } from "../mail/index.ts";
import { drivenTask, inspectSession } from "../session/index.ts";
import { parkedIn, parkedText } from "./parked-text.ts";
import { inboxOf } from "./post.ts";

export interface UnderWay {
  /** Its agent works, or is being started. */
  readonly isRunning: boolean;
  /** Tasks that have not begun. */
  readonly queued: number;
}

export async function underWay(home: Home, { id, dir }: FoundSession): Promise<UnderWay> {
  const { state } = await inspectSession(dir);
  const lying = (await inboxOf(home, dir).waiting()).map(idOf).filter((one) => one.startsWith("task_"));
  // A task that is just being taken in is in both.
  const queued = new Set([...state.queue.map(({ request }) => request), ...lying]).size;
  const isAtTask = state.openTurn !== null || drivenTask(state) !== null;
  const place = readPlace(home, id);
  const isStarting = place?.state === "granted" && !place.isTaken && hasProcess(place);
  const isThere = readProcessRecord(dir) !== undefined;
  return { isRunning: isStarting || (isThere && (isAtTask || queued > 0)), queued };
}

/**
 * A task that is run again from its old base would move the branch away from the work of the tasks before it.
 */
export async function assertCanRetry(home: Home, found: FoundSession): Promise<void> {
  const { isRunning, queued } = await underWay(home, found);
  const { state } = await inspectSession(found.dir);
  const label = state.name ?? found.id;
  const parked = parkedIn(state);
  if (parked)
    throw new HoldfastError(
      "illegal_transition",
      `task ${state.task?.number} of ${label} is parked: ${parkedText(parked)}; holdfast resume ${label} continues ` +
        `it, holdfast queue ${label} says how to end it`,
      { session: found.id },
    );
  if (!isRunning && queued === 0) return;
  const what = queued === 0 ? "a task runs" : queued === 1 ? "a task waits" : `${queued} tasks wait`;
  throw new HoldfastError(
    "illegal_transition",
    `${what} in ${label}, so its last task can't be run again yet: holdfast wait ${label} waits for the end, ` +
      `holdfast queue ${label} lists what holdfast cancel can cancel`,
    { session: found.id, queued },
  );
}
