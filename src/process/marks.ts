/**
 * Owns the mark that every process of a capsule has in its environment. It is only a hint, because any
 * program may have written it there. The mounts of a process are certain.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { deadline, signalIfThere, systemClock } from "../util/index.ts";
import { allPids } from "./pids.ts";

export const CAPSULE_MARK = "HOLDFAST_CAPSULE";
const END_MS = 10_000;
/** They are not our children, so the kernel does not notify us when they end. */
const LOOK_MS = 2;

/** A program can have an environment of many megabytes. What we give a command is at the beginning, and shorter. */
const SEARCHED_BYTES = 64 * 1024;
const SEARCHED = Buffer.alloc(SEARCHED_BYTES);

/** Processes that have the mark of a capsule, with the mark. */
export function markedProcesses(): { readonly pid: number; readonly mark: string }[] {
  return allPids().flatMap((pid) => {
    const mark = markIn(`\0${environOf(pid)}`);
    return mark === undefined ? [] : [{ pid, mark }];
  });
}

const START = `\0${CAPSULE_MARK}=`;

function markIn(environ: string): string | undefined {
  const at = environ.indexOf(START);
  if (at < 0) return undefined;
  const end = environ.indexOf("\0", at + START.length);
  return environ.slice(at + START.length, end < 0 ? undefined : end);
}

/** Its beginning. Empty if the process is gone, or is not ours to look at. */
function environOf(pid: number): string {
  let file: number | undefined;
  try {
    file = openSync(`/proc/${pid}/environ`, "r");
    let bytes = 0;
    // The kernel returns a page at a time.
    for (let more = 1; more > 0 && bytes < SEARCHED_BYTES; bytes += more)
      more = readSync(file, SEARCHED, bytes, SEARCHED_BYTES - bytes, null);
    return SEARCHED.toString("utf8", 0, bytes);
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
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
