/**
 * Owns what a session may take of the machine: as the user's settings allow, or less where the repo says so. What the
 * kernel can keep, it keeps; the rest is for whoever watches.
 */
import { type QuotaSettings, type Settings, within } from "../../config/index.ts";
import {
  type CgroupShare,
  halfOfAllProcesses,
  type ProcessLimits,
  type TaskUser,
} from "../../process/index.ts";
import { present } from "../../util/index.ts";

export interface Quota {
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly maxProcesses: number;
  /** So much of the disk stays free, for the journals of the others. */
  readonly reserveBytes: number;
  /** Without it, what the machine has. */
  readonly maxMemoryBytes?: number;
}

export const MEGABYTE = 1024 * 1024;

export function quotaOf(asked: QuotaSettings, { quota: allowed }: Settings): Quota {
  const { disk_mb, files, processes, reserve_mb, memory_mb } = within(asked, allowed);
  return {
    maxBytes: disk_mb * MEGABYTE,
    maxFiles: files,
    maxProcesses: processes,
    reserveBytes: reserve_mb * MEGABYTE,
    ...(memory_mb !== undefined && { maxMemoryBytes: memory_mb * MEGABYTE }),
  };
}

/** Between two looks of the watch, processes can become many: twice as many as allowed are refused at once. */
const PROCESS_FACTOR = 2;
/** More than tools need, and databases. */
const MAX_OPEN_FILES = 65_536;

/**
 * What the kernel keeps for each process. Processes it counts by user and user namespace: an ordinary user's sandbox has
 * a count of its own. What root starts for another user is counted with all that is that user's, in other sandboxes
 * too: there it is so many that the machine goes on, and where there is no cgroup, the watch does the rest.
 */
export function kernelLimits({ maxBytes, maxProcesses }: Quota, user: TaskUser | undefined): ProcessLimits {
  return {
    maxFileBytes: maxBytes,
    maxOpenFiles: MAX_OPEN_FILES,
    maxProcesses: user ? halfOfAllProcesses() : PROCESS_FACTOR * maxProcesses,
  };
}

/** What it keeps for all of them together. */
export function cgroupLimits({ maxProcesses, maxMemoryBytes }: Quota): CgroupShare["limits"] {
  return { maxProcesses: PROCESS_FACTOR * maxProcesses, ...present({ maxMemoryBytes }) };
}
