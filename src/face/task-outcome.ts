/**
 * Owns how the end of a task is reported: that of its command in a few words, that of the task as the status
 * that a verb exits with.
 */
import { constants } from "node:os";
import { exitStatus, type ParkReason } from "../contract/index.ts";
import type { TaskState } from "../session/index.ts";

export type CommandEnding = Pick<TaskState, "exitCode" | "signal">;

const STATUSES: Readonly<Record<string, number>> = {
  done: exitStatus.done,
  unverified: exitStatus.done,
  failed: exitStatus.failed,
  needs_review: exitStatus.held,
  cancelled: exitStatus.interrupted,
  interrupted: exitStatus.interrupted,
  // A person cancelled it, and knows that.
  rewound: exitStatus.done,
};

/** The status of a verb that waited for a task with this outcome. */
export function statusOfOutcome(outcome: string): number {
  return STATUSES[outcome] ?? exitStatus.failed;
}

const PARKED: Readonly<Record<ParkReason, number>> = {
  budget: exitStatus.budget,
  price: exitStatus.budget,
  usage_limit: exitStatus.budget,
  key: exitStatus.held,
  approval: exitStatus.held,
  answer: exitStatus.held,
};

/** The status of a verb that waited for a task which was parked. */
export function statusOfPark(reason: ParkReason): number {
  return PARKED[reason];
}

/** `exit 3`, `SIGKILL`; undefined if no command has ended. */
export function endingText({ exitCode, signal }: CommandEnding): string | undefined {
  if (exitCode !== null) return `exit ${exitCode}`;
  return signal ?? undefined;
}

/** As in a shell: its own status, or 128 plus the number of the signal. */
export function statusOfCommand({ exitCode, signal }: CommandEnding): number | undefined {
  if (exitCode !== null) return exitCode;
  const number = signal === null ? undefined : constants.signals[signal as NodeJS.Signals];
  return number === undefined ? undefined : SIGNALLED + number;
}

const SIGNALLED = 128;
