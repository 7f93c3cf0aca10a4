/**
 * Owns the looking at a process and all that it started: who they are, and how much memory they hold.
 */
import { readTextOr } from "../util/index.ts";

const PAGE_BYTES = 4096;

export interface TreeUse {
  readonly processes: number;
  /** Resident; what two of them share counts twice. */
  readonly bytes: number;
}

/** It and its descendants. Nothing else is looked at: the cost does not grow with what runs on the machine. */
export function treeOf(pid: number): number[] {
  const tree = [pid];
  for (let at = 0; at < tree.length; at += 1) {
    const one = tree[at];
    for (const child of readTextOr(`/proc/${one}/task/${one}/children`, "").split(" "))
      if (child !== "") tree.push(Number(child));
  }
  return tree;
}

export function measureTree(pid: number): TreeUse {
  let processes = 0;
  let bytes = 0;
  for (const one of treeOf(pid)) {
    const pages = Number(readTextOr(`/proc/${one}/statm`, "").split(" ")[1] ?? Number.NaN);
    if (!Number.isFinite(pages)) continue;
    processes += 1;
    bytes += pages * PAGE_BYTES;
  }
  return { processes, bytes };
}
