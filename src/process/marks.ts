/**
 * Owns the mark that every process of a capsule has in its environment. It is only a hint, because any
 * program may have written it there. The mounts of a process are certain.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { deadline, readTextOr, signalIfThere, systemClock } from "../util/index.ts";
import { allPids } from "./pids.ts";

export const CAPSULE_MARK = "HOLDFAST_CAPSULE";
const END_MS = 10_000;
/** They are not our children, so the kernel does not notify us when they end. */
const LOOK_MS = 2;

/** Processes that have the mark of a capsule, with the mark. */
export function markedProcesses(): { readonly pid: number; readonly mark: string }[] {
  return allPids().flatMap((pid) => {
    const environ = readTextOr(`/proc/${pid}/environ`, "");
    const mark = environ.split("\0").find((line) => line.startsWith(`${CAPSULE_MARK}=`));
    return mark ? [{ pid, mark: mark.slice(CAPSULE_MARK.length + 1) }] : [];
  });
}

/** Ends every process that has this mark. */
export function endMarked(mark: string): Promise<void> {
  return endAll(() =>
    markedProcesses()
      .filter((one) => one.mark === mark && one.pid !== process.pid)
      .map(({ pid }) => pid),
  );
}

/** Ends whatever is found, until nothing is. */
export async function endAll(find: () => readonly number[]): Promise<void> {
  for (const patience = deadline(systemClock, END_MS); !patience.isPast; await sleep(LOOK_MS)) {
    const living = find();
    if (living.length === 0) return;
    for (const pid of living) signalIfThere(pid, "SIGKILL");
  }
  const left = find().join(", ");
  throw new HoldfastError("processes_remain", `processes of the capsule did not end: ${left}`);
}
