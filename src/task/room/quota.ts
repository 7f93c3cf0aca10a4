/**
 * Owns how much of the machine a session may use: what the user's settings allow, or less if the repo's file
 * asks for less. The kernel enforces what it can, and the watch enforces the rest.
 */
import { type QuotaSettings, type Settings, within } from "../../config/index.ts";
import {
  type CgroupShare,
  halfOfAllProcesses,
  ownMostOpenFiles,
  type ProcessLimits,
  type TaskUser,
} from "../../process/index.ts";
import { present } from "../../util/index.ts";

export interface Quota {
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly maxProcesses: number;
  /** This much of the disk stays free, for the journals of other sessions. */
  readonly reserveBytes: number;
  /** Undefined: as much as the machine has. */
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

/**
 * Between two looks of the watch, processes can multiply. The kernel refuses more than twice the allowed
 * number.
 */
const PROCESS_FACTOR = 2;
/** More than ordinary tools and databases need. */
const MAX_OPEN_FILES = 65_536;
/**
 * The kernel counts descriptors that are on their way through sockets for each user, and compares them with the limit of
 * the sender. With half of ours, a task can't keep our own processes from sending theirs.
 */
const mostOpenFiles = () => Math.min(MAX_OPEN_FILES, Math.floor(ownMostOpenFiles() / 2));

/**
 * The limits that the kernel enforces for each process. It counts processes by user and user namespace, so
 * the sandbox of an ordinary user has a count of its own. When root starts processes for another user, they
 * are counted with all other processes of that user, in other sandboxes too. There the limit only protects
 * the machine; without a cgroup, the watch does the rest.
 */
export function kernelLimits({ maxBytes, maxProcesses }: Quota, user: TaskUser | undefined): ProcessLimits {
  return {
    maxFileBytes: maxBytes,
    maxOpenFiles: mostOpenFiles(),
    maxProcesses: user ? halfOfAllProcesses() : PROCESS_FACTOR * maxProcesses,
  };
}

/** The limits that the kernel enforces for all of them together. */
export function cgroupLimits({ maxProcesses, maxMemoryBytes }: Quota): CgroupShare["limits"] {
  return { maxProcesses: PROCESS_FACTOR * maxProcesses, ...present({ maxMemoryBytes }) };
}
