/**
 * Owns looking at a process and everything that it started: their pids, and how much memory and disk they
 * use.
 */
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { readTextOr } from "../util/index.ts";

const PAGE_BYTES = 4096;
const BLOCK_BYTES = 512;
/** Finding out how much a process shares is slow: at most this many are looked at, whatever their number. */
const MAX_ALONE = 32;
const MAX_SAMPLES = 32;

/** Nothing is counted beyond this: a task with more processes has too many anyway. */
const MAX_TREE = 8192;
const MAX_DESCRIPTORS = 65_536;

export interface TreeUse {
  /** Threads, as the system's own limit counts them. */
  readonly processes: number;
  /** Memory that two of them share is counted once. It is never more than the machine has. */
  readonly bytes: number;
}

/**
 * The process and its descendants. Nothing else is looked at, so the cost does not depend on what else runs.
 */
export function treeOf(pid: number): number[] {
  return walk(pid).tree;
}

function walk(pid: number): { tree: number[]; threads: number } {
  const tree = [pid];
  let threads = 0;
  for (let at = 0; at < tree.length && tree.length + threads < MAX_TREE; at += 1) {
    // Each of its threads may have started some.
    for (const thread of threadsOf(tree[at] ?? 0).slice(0, MAX_TREE - threads)) {
      threads += 1;
      for (const child of readTextOr(`/proc/${tree[at]}/task/${thread}/children`, "").split(" "))
        if (child !== "") tree.push(Number(child));
    }
  }
  return { tree, threads };
}

/** In bytes. The largest are looked at one by one. Of the others only some are, each for its neighbours. */
export function measureTree(pid: number): TreeUse {
  const { tree, threads } = walk(pid);
  const bySize = tree.flatMap(residentOf).sort((a, b) => b.bytes - a.bytes);
  const step = Math.max(1, Math.ceil((bySize.length - MAX_ALONE) / MAX_SAMPLES));
  let bytes = 0;
  // Processes that hide how much they share are assumed to share as much.
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
  /** Included in these: pages of files, and memory that was made to be shared. */
  readonly sharedBytes: number;
}

function residentOf(pid: number): Resident[] {
  const [, resident = 0, shared = 0] = readTextOr(`/proc/${pid}/statm`, "").split(" ").map(Number);
  // A process that has ended and was not reaped yet uses nothing.
  return resident > 0 ? [{ pid, bytes: resident * PAGE_BYTES, sharedBytes: shared * PAGE_BYTES }] : [];
}

/** A page that several processes have counts for each with its share. Undefined if we may not look. */
function shareOf(pid: number): number | undefined {
  const pss = /^Pss:\s+(\d+) kB/m.exec(readTextOr(`/proc/${pid}/smaps_rollup`, ""))?.[1];
  return pss === undefined ? undefined : Number(pss) * 1024;
}

/**
 * How much it and everything that it started have written so far, to files and to pipes. Undefined if the
 * kernel does not count that.
 */
export function writtenBytes(pid: number): number | undefined {
  const counts = treeOf(pid).flatMap((one) => {
    const written = /^wchar: (\d+)$/m.exec(readTextOr(`/proc/${one}/io`, ""))?.[1];
    return written === undefined ? [] : [Number(written)];
  });
  return counts.length === 0 ? undefined : counts.reduce((sum, bytes) => sum + bytes, 0);
}

/** Bytes on the disk in files that have no name any more and that one of them still has open. */
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
        // It was closed meanwhile.
      }
    }
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

export function threadsOf(pid: number): string[] {
  return namesIn(`/proc/${pid}/task`);
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
