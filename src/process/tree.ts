/**
 * Owns the looking at a process and all that it started: who they are, and how much memory and disk they hold.
 */
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { readTextOr } from "../util/index.ts";

const PAGE_BYTES = 4096;
const BLOCK_BYTES = 512;
/** To find out what a process shares takes its time: no more than these are looked at, whatever their number. */
const MAX_ALONE = 32;
const MAX_SAMPLES = 32;

/** Nobody looks further than that: whoever has more has too many. */
const MAX_TREE = 8192;
const MAX_DESCRIPTORS = 65_536;

export interface TreeUse {
  /** Threads, as the system's own limit counts them. */
  readonly processes: number;
  /** What two of them share is counted once; never more than the machine has. */
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

/** Bytes: the largest are looked at one by one; of the others, each one that is looked at stands for its neighbours. */
export function measureTree(pid: number): TreeUse {
  const { tree, threads } = walk(pid);
  const bySize = tree.flatMap(residentOf).sort((a, b) => b.bytes - a.bytes);
  const step = Math.max(1, Math.ceil((bySize.length - MAX_ALONE) / MAX_SAMPLES));
  let bytes = 0;
  // Of those that don't let us see what they share it is taken to be the same.
  let unseenShared = 0;
  for (let at = 0; at < bySize.length; ) {
    const group = bySize.slice(at, at + (at < MAX_ALONE ? 1 : step));
    at += group.length;
    const one = group[group.length >> 1];
    if (!one) break;
    const ofAll = group.reduce((sum, each) => sum + each.bytes, 0);
    const share = shareOf(one.pid);
    if (share === undefined) unseenShared = Math.max(unseenShared, one.sharedBytes);
    bytes += ofAll * ((share ?? one.bytes - one.sharedBytes) / one.bytes);
  }
  return { processes: threads, bytes: Math.min(Math.round(bytes + unseenShared), totalmem()) };
}

interface Resident {
  readonly pid: number;
  readonly bytes: number;
  /** Of these: pages of files, and of memory that was made to be shared. */
  readonly sharedBytes: number;
}

function residentOf(pid: number): Resident[] {
  const [, resident = 0, shared = 0] = readTextOr(`/proc/${pid}/statm`, "").split(" ").map(Number);
  // One that has ended, and that nobody asked after yet, holds nothing.
  return resident > 0 ? [{ pid, bytes: resident * PAGE_BYTES, sharedBytes: shared * PAGE_BYTES }] : [];
}

/** A page that so many hold counts for each as one part of so many. Undefined where we may not look. */
function shareOf(pid: number): number | undefined {
  const pss = /^Pss:\s+(\d+) kB/m.exec(readTextOr(`/proc/${pid}/smaps_rollup`, ""))?.[1];
  return pss === undefined ? undefined : Number(pss) * 1024;
}

/** What it and all that it started have written so far, to files and to pipes. Undefined where nobody counts that. */
export function writtenBytes(pid: number): number | undefined {
  const counts = treeOf(pid).flatMap((one) => {
    const written = /^wchar: (\d+)$/m.exec(readTextOr(`/proc/${one}/io`, ""))?.[1];
    return written === undefined ? [] : [Number(written)];
  });
  return counts.length === 0 ? undefined : counts.reduce((sum, bytes) => sum + bytes, 0);
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
