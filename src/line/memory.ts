/**
 * Owns what is known about memory: how much of the machine's we may use, and how much agents of a kind have
 * needed.
 */
import { freemem, totalmem } from "node:os";
import type { Home } from "../home/index.ts";
import { readTextOr } from "../util/index.ts";
import { type Memory, reserveBytes } from "./admission.ts";
import { readPeaks } from "./peaks.ts";

/** For an agent that has never been seen running. */
const UNKNOWN_NEED_BYTES = 128 * 1024 * 1024;
const KILOBYTE = 1024;

/** The limit of a container counts, if there is one. */
export function readMemory(): Memory {
  const info = readTextOr("/proc/meminfo", "");
  const line = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(info)?.[1]) * KILOBYTE;
  const machine = {
    availableBytes: line("MemAvailable") || freemem(),
    totalBytes: line("MemTotal") || totalmem(),
  };
  const group = readGroup();
  if (!group) return machine;
  return {
    availableBytes: Math.min(machine.availableBytes, Math.max(0, group.max - group.current)),
    totalBytes: Math.min(machine.totalBytes, group.max),
  };
}

function readGroup(): { max: number; current: number } | undefined {
  const path = /^0::(\/.*)$/m.exec(readTextOr("/proc/self/cgroup", ""))?.[1];
  if (path === undefined) return undefined;
  const number = (name: string) => Number(readTextOr(`/sys/fs/cgroup${path}/${name}`, "").trim());
  const max = number("memory.max");
  // What the kernel caches of files, and would give back.
  const cache = /^inactive_file (\d+)$/m.exec(readTextOr(`/sys/fs/cgroup${path}/memory.stat`, ""))?.[1];
  const current = number("memory.current") - Number(cache ?? 0);
  return max > 0 && Number.isFinite(max) && Number.isFinite(current) ? { max, current } : undefined;
}

/**
 * The highest of its last peaks, and never more than there is: an agent that needs that much waits until it
 * is alone.
 */
export async function needOf(home: Home, definition: string, memory: Memory): Promise<number> {
  const peaks = await readPeaks(home, definition);
  const need = peaks.length === 0 ? UNKNOWN_NEED_BYTES : Math.max(...peaks);
  return Math.min(need, Math.max(0, memory.totalBytes - reserveBytes(memory)));
}
