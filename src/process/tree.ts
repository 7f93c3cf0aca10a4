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

/**
 * Bytes on the disk in files that have no name any more, and that one of them still has open or in its memory.
 */
export function unnamedBytes(pid: number): number {
  const opened = new Map<string, number>();
  const mapped = new Map<string, number>();
  let looked = 0;
  for (const one of treeOf(pid)) {
    for (const fd of namesIn(`/proc/${one}/fd`)) {
      looked += 1;
      if (looked > MAX_DESCRIPTORS) return Number.MAX_SAFE_INTEGER;
      try {
        const path = `/proc/${one}/fd/${fd}`;
        if (!readlinkSync(path).endsWith(DELETED)) continue;
        const { ino, blocks } = statSync(path);
        opened.set(String(ino), blocks * BLOCK_BYTES);
      } catch {
        // It was closed meanwhile.
      }
    }
    for (const { inode, bytes } of mappedUnnamed(one))
      mapped.set(inode, Math.max(bytes, mapped.get(inode) ?? 0));
  }
  // Not by the device, which has another name among the mappings.
  for (const inode of opened.keys()) mapped.delete(inode);
  return [...opened.values(), ...mapped.values()].reduce((sum, bytes) => sum + bytes, 0);
}

const DELETED = " (deleted)";
/** A line of proc_pid_maps(5): the range, the offset, and the inode of a file without a name. */
const UNNAMED = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ (\d+) +(\S.*) \(deleted\)$/gm;
/** These are in memory, which is counted as such. */
const IN_MEMORY = /^\/(memfd:|dev\/shm\/|dev\/zero$|SYSV)/;

function mappedUnnamed(pid: number): { readonly inode: string; readonly bytes: number }[] {
  const found: { inode: string; bytes: number }[] = [];
  for (const [, from = "", to = "", offset = "", inode = "", path = ""] of readTextOr(
    `/proc/${pid}/maps`,
    "",
  ).matchAll(UNNAMED)) {
    if (IN_MEMORY.test(path)) continue;
    const extent = Number(`0x${offset}`) + Number(`0x${to}`) - Number(`0x${from}`);
    found.push({ inode, bytes: onDisk(`/proc/${pid}/map_files/${from}-${to}`) ?? extent });
  }
  return found;
}

/** Undefined if we may not look: only root may. */
function onDisk(path: string): number | undefined {
  try {
    return statSync(path).blocks * BLOCK_BYTES;
  } catch {
    return undefined;
  }
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
