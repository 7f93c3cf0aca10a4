/**
 * Owns the looking at a process and all that it started: who they are, and how much memory and disk they hold.
 */
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { readTextOr } from "../util/index.ts";

const PAGE_BYTES = 4096;
const BLOCK_BYTES = 512;
/** Of more than these, memory is counted as if nothing were shared: the exact way takes its time. */
const MAX_EXACT = 64;

export interface TreeUse {
  readonly processes: number;
  /** What two of them share is counted once. */
  readonly bytes: number;
}

/** It and its descendants. Nothing else is looked at: the cost does not grow with what runs on the machine. */
export function treeOf(pid: number): number[] {
  const tree = [pid];
  for (let at = 0; at < tree.length; at += 1) {
    // Each of its threads may have started some.
    for (const thread of namesIn(`/proc/${tree[at]}/task`))
      for (const child of readTextOr(`/proc/${tree[at]}/task/${thread}/children`, "").split(" "))
        if (child !== "") tree.push(Number(child));
  }
  return tree;
}

export function measureTree(pid: number): TreeUse {
  const living = treeOf(pid).flatMap((one) => {
    const pages = Number(readTextOr(`/proc/${one}/statm`, "").split(" ")[1] ?? Number.NaN);
    return Number.isFinite(pages) ? [{ pid: one, bytes: pages * PAGE_BYTES }] : [];
  });
  const isExact = living.length <= MAX_EXACT;
  const bytes = living.reduce((sum, one) => sum + (isExact ? shareOf(one) : one.bytes), 0);
  return { processes: living.length, bytes };
}

function shareOf({ pid, bytes }: { readonly pid: number; readonly bytes: number }): number {
  const pss = /^Pss:\s+(\d+) kB/m.exec(readTextOr(`/proc/${pid}/smaps_rollup`, ""))?.[1];
  return pss === undefined ? bytes : Number(pss) * 1024;
}

/** What lies on the disk in files that have no name any more, and that one of them still has open. */
export function unnamedBytes(pid: number): number {
  const seen = new Map<string, number>();
  for (const one of treeOf(pid)) {
    for (const fd of namesIn(`/proc/${one}/fd`)) {
      try {
        const path = `/proc/${one}/fd/${fd}`;
        if (!readlinkSync(path).endsWith(" (deleted)")) continue;
        const { dev, ino, blocks } = statSync(path);
        seen.set(`${dev} ${ino}`, blocks * BLOCK_BYTES);
      } catch {
        // Closed meanwhile.
      }
    }
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
