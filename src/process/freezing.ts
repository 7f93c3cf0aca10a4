/**
 * Owns freezing a process with everything that it started, and thawing it.
 */
import { signalIfThere } from "../util/index.ts";
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
