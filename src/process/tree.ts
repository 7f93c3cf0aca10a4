/**
 * Owns the looking at a process and all that it started: who they are, and how much memory and disk they hold.
 */
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { readTextOr } from "../util/index.ts";

const PAGE_BYTES = 4096;
const BLOCK_BYTES = 512;
/** Of more than these, memory is counted as if nothing were shared: the exact way takes its time. */
const MAX_EXACT = 64;

/** Nobody looks further than that: whoever has more has too many. */
const MAX_TREE = 8192;
const MAX_DESCRIPTORS = 65_536;

export interface TreeUse {
  /** Threads, as the system's own limit counts them. */
  readonly processes: number;
  /** What two of them share is counted once. */
  readonly bytes: number;
}

/** It and its descendants. Nothing else is looked at: the cost does not grow with what runs on the machine. */
export function treeOf(pid: number): number[] {
  return walk(pid).tree;
}

function walk(pid: number): { tree: number[]; threads: number } {
  const tree = [pid];
  let threads = 0;
  for (let at = 0; at < tree.length && tree.length + threads < MAX_TREE; at += 1) {
    // Each of its threads may have started some.
    for (const thread of namesIn(`/proc/${tree[at]}/task`).slice(0, MAX_TREE - threads)) {
      threads += 1;
      for (const child of readTextOr(`/proc/${tree[at]}/task/${thread}/children`, "").split(" "))
        if (child !== "") tree.push(Number(child));
    }
  }
  return { tree, threads };
}

export function measureTree(pid: number): TreeUse {
  const { tree, threads } = walk(pid);
  const living = tree.flatMap((one) => {
    const pages = Number(readTextOr(`/proc/${one}/statm`, "").split(" ")[1] ?? Number.NaN);
    return Number.isFinite(pages) ? [{ pid: one, bytes: pages * PAGE_BYTES }] : [];
  });
  const isExact = living.length <= MAX_EXACT;
  const bytes = living.reduce((sum, one) => sum + (isExact ? shareOf(one) : one.bytes), 0);
  return { processes: threads, bytes };
}

function shareOf({ pid, bytes }: { readonly pid: number; readonly bytes: number }): number {
  const pss = /^Pss:\s+(\d+) kB/m.exec(readTextOr(`/proc/${pid}/smaps_rollup`, ""))?.[1];
  return pss === undefined ? bytes : Number(pss) * 1024;
}

/** What lies on the disk in files that have no name any more, and that one of them still has open. */
export function unnamedBytes(pid: number): number {
  const seen = new Map<string, number>();
  let looked = 0;
  for (const one of treeOf(pid)) {
    for (const fd of namesIn(`/proc/${one}/fd`)) {
      looked += 1;
      if (looked > MAX_DESCRIPTORS) return Number.MAX_SAFE_INTEGER;
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
