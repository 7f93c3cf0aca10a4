/**
 * Owns the stage in which the agent works: its adapter drives it, and what the session process joins to it is there
 * before its first process and gone after its last.
 *
 * What a kill leaves: `stage_started` without its end, perhaps an open turn, and files beyond the last checkpoint. An
 * adapter that knows how to go on is driven again on these files; else they are kept as the work of a task that was
 * interrupted.
 */
import type { Adapter } from "../../agent/index.ts";
import type { Parked, TaskSpec } from "../../contract/index.ts";
import type { AskedOutcome } from "../in-hand.ts";
import type { Task } from "../task.ts";
import type { WorkplaceOptions } from "../workplace.ts";

/** What a session process has ready for the agent of a task. */
export interface Joined {
  readonly surroundings: WorkplaceOptions;
  /** Takes it away again, whatever became of the agent. */
  part(): Promise<Parted>;
}

export interface Parted {
  readonly isOverQuota: boolean;
  /** Why its processes were ended, where its models can't be asked now. */
  readonly parked?: Parked;
}

export interface Acted {
  /** Undefined: it was paused or parked, and goes on later. */
  readonly outcome: AskedOutcome | undefined;
  /** Why it stands still, where it does. */
  readonly parked?: Parked;
  /** It took more than its share: the session waits for a person. */
  readonly isOverQuota: boolean;
}

/** Why a turn was ended from outside. */
export type Stop = "interrupt" | "pause";

interface ActOptions {
  readonly adapter: Adapter;
  readonly stop: AbortSignal;
  /** Whether its agent was cut off, and is driven again. */
  readonly isGoingOn: boolean;
  readonly join: () => Promise<Joined>;
}

export async function act(
  task: Task,
  { agent, cwd }: TaskSpec,
  { adapter, stop, isGoingOn, join }: ActOptions,
): Promise<Acted> {
  const { session } = task.room;
  // Durable with the turn's own beginning, which follows it.
  const started = session.append("stage_started", { task: task.number, stage: "act" });
  started.catch(() => {});
  // Its sockets are opened beside what has to be written before the first process.
  task.openNetwork();
  const joined = await join();
  let parted: Parted = { isOverQuota: false };
  const end = await adapter
    .drive(task.workplace({ ...joined.surroundings, cwd, isGoingOn }), agent)
    .finally(async () => {
      parted = await joined.part();
    });
  await started;
  const { isOverQuota } = parted;
  if (end.outcome === "done" || end.outcome === "failed") return { outcome: end.outcome, isOverQuota };
  if (stop.aborted && stop.reason === "interrupt") return { outcome: "cancelled", isOverQuota };
  const parked = end.outcome === "parked" ? end.parked : parted.parked;
  if (parked && !stop.aborted) return { outcome: undefined, parked, isOverQuota };
  // Stopped by its quota, and not by a person.
  if (!stop.aborted) return { outcome: "failed", isOverQuota };
  return { outcome: adapter.goesOn(agent) ? undefined : "interrupted", isOverQuota };
}
