/**
 * Owns freezing processes and thawing them: one process with everything that it started, or all processes of
 * a capsule.
 */
import { HoldfastError } from "../contract/index.ts";
import {
  deadline,
  identityOf,
  isAlive,
  type ProcessIdentity,
  readTextOr,
  signalIfThere,
  systemClock,
} from "../util/index.ts";
import { type Holder, isIn } from "./holder.ts";
import { markedProcesses } from "./marks.ts";
import { allPids } from "./pids.ts";
import { threadsOf, treeOf } from "./tree.ts";

const STOP_MS = 10_000;
/** The kernel does not notify when a process of someone else has stopped. */
const LOOK_MS = 1;

/** Returns when all of it stands still. */
export function freezeTree(pid: number): void {
  stopAll(() => treeOf(pid));
}

export function thawTree(pid: number): void {
  for (const one of treeOf(pid)) signalIfThere(one, "SIGCONT");
}

/** Processes that stand still until this is disposed of. */
export interface Frozen extends Disposable {
  /** Lets one of them go on before the others, with everything that it started. */
  thaw(pid: number): void;
}

/**
 * Stops every other process in the holder's namespaces, and those of ours with the mark, which may be on their
 * way in, with everything that these started. The mark of a process that is not ours may be forged, to keep a
 * freeze from ending. Processes that the holder itself starts while it begins are not stopped: it would wait
 * for them forever.
 */
export function freezeHeld(holder: Holder, mark: string): Frozen {
  const isSpared = (pid: number) => pid === holder.pid || pid === process.pid || parentOf(pid) === holder.pid;
  return frozen(() => {
    const held = allPids().filter((pid) => isIn(pid, holder));
    // What they started may have namespaces of its own, as an upstream server has.
    const ours = new Set(treeOf(process.pid));
    const coming = pidsWith(mark).filter((pid) => ours.has(pid));
    return [...held, ...coming].filter((pid) => !isSpared(pid)).flatMap(treeOf);
  });
}

/** Stops every other process that has this mark, with everything that these started. */
export function freezeMarked(mark: string): Frozen {
  return frozen(() =>
    pidsWith(mark)
      .flatMap(treeOf)
      .filter((pid) => pid !== process.pid),
  );
}

const pidsWith = (mark: string) => markedProcesses().flatMap((one) => (one.mark === mark ? [one.pid] : []));

function frozen(find: () => readonly number[]): Frozen {
  const stopped = stopAll(find);
  return {
    thaw: (pid) => {
      for (const one of treeOf(pid)) resume(stopped.get(one));
    },
    [Symbol.dispose]: () => {
      for (const one of stopped.values()) resume(one);
    },
  };
}

/**
 * A signal takes effect a moment after it was sent, and until then a process may start another one. So a look
 * that finds nothing new counts only if everything stood still before it: what stands still starts nothing.
 * Fails with `processes_remain`, and then everything goes on.
 */
function stopAll(find: () => readonly number[]): Map<number, ProcessIdentity> {
  const stopped = new Map<number, ProcessIdentity>();
  const patience = deadline(systemClock, STOP_MS);
  for (;;) {
    const restless = [...stopped.values()].filter(isMoving);
    const found = [...new Set(find())].filter((pid) => !stopped.has(pid));
    if (restless.length + found.length === 0) return stopped;
    if (patience.isPast) {
      for (const one of stopped.values()) resume(one);
      const left = [...restless.map(({ pid }) => pid), ...found].join(", ");
      throw new HoldfastError("processes_remain", `processes of the capsule do not stand still: ${left}`);
    }
    // A process that still moved may have told others to go on.
    for (const { pid } of restless) signalIfThere(pid, "SIGSTOP");
    for (const pid of found) {
      stopped.set(pid, identityOf(pid));
      signalIfThere(pid, "SIGSTOP");
    }
    if (found.length === 0) pause();
  }
}

/** The callers can't wait for a promise: nothing of ours may run between the freeze and what it is for. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
}

/**
 * Whether one of its threads runs or can be woken: the states R and S of proc_pid_stat(5). D counts as still,
 * because a process waits in it for a child of `vfork` that was stopped.
 */
function isMoving({ pid, startTicks }: ProcessIdentity): boolean {
  // A pid may be another process by now, and one that is not ours can't be stopped.
  if (identityOf(pid).startTicks !== startTicks || !canSignal(pid)) return false;
  return threadsOf(pid).some((thread) => /^[RS]/.test(statOf(`${pid}/task/${thread}`)[0] ?? ""));
}

function canSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A pid may be another process by now. */
function resume(one: ProcessIdentity | undefined): void {
  if (one && isAlive(one)) signalIfThere(one.pid, "SIGCONT");
}

const parentOf = (pid: number) => Number(statOf(pid)[1]);

/** Fields 3 and up of proc_pid_stat(5). The name before them may contain anything. */
function statOf(place: number | string): string[] {
  const stat = readTextOr(`/proc/${place}/stat`, "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
