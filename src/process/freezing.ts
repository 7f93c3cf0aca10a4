/**
 * Owns freezing processes and thawing them: one process with everything that it started, or all processes of
 * a capsule.
 */
import { identityOf, isAlive, type ProcessIdentity, readTextOr, signalIfThere } from "../util/index.ts";
import { type Holder, isIn } from "./holder.ts";
import { markedProcesses } from "./marks.ts";
import { allPids } from "./pids.ts";
import { treeOf } from "./tree.ts";

/** A process that is started meanwhile is found by the next look: frozen processes start no more. */
export function freezeTree(pid: number): void {
  const frozen = new Set<number>();
  for (;;) {
    const moving = treeOf(pid).filter((one) => !frozen.has(one));
    if (moving.length === 0) return;
    for (const one of moving) {
      signalIfThere(one, "SIGSTOP");
      frozen.add(one);
    }
  }
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
 * Stops every other process in the holder's namespaces, and those with the mark, which may be on their way
 * in, with everything that these started. A process that is started meanwhile is found by the next look:
 * stopped processes start no more. Processes that the holder itself starts while it begins are not stopped:
 * it would wait for them forever.
 */
export function freezeHeld(holder: Holder, mark: string): Frozen {
  const frozen = new Map<number, ProcessIdentity>();
  const isSpared = (pid: number) => pid === holder.pid || pid === process.pid || parentOf(pid) === holder.pid;
  for (;;) {
    const marked = markedProcesses().flatMap((one) => (one.mark === mark ? [one.pid] : []));
    const held = allPids().filter((pid) => isIn(pid, holder));
    // What they started may have namespaces of its own, as an upstream server has.
    const found = [...held, ...marked].filter((pid) => !isSpared(pid)).flatMap(treeOf);
    const moving = [...new Set(found)].filter((pid) => !frozen.has(pid));
    if (moving.length === 0) break;
    for (const pid of moving) {
      signalIfThere(pid, "SIGSTOP");
      frozen.set(pid, identityOf(pid));
    }
  }
  // A pid may be another process by now.
  const resume = (pid: number) => {
    const identity = frozen.get(pid);
    if (identity && isAlive(identity)) signalIfThere(pid, "SIGCONT");
  };
  return {
    thaw: (pid) => {
      for (const one of treeOf(pid)) resume(one);
    },
    [Symbol.dispose]: () => {
      for (const pid of frozen.keys()) resume(pid);
    },
  };
}

/** Field 4 of proc_pid_stat(5). The name before it may contain anything. */
function parentOf(pid: number): number {
  const stat = readTextOr(`/proc/${pid}/stat`, "");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}
