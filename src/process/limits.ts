/**
 * Owns the limits that the kernel keeps for a process and all that it starts. Nobody has to look: what goes beyond
 * them fails where it happens.
 */
import { readTextOr } from "../util/index.ts";
import { findOutsideProgram } from "./outside-program.ts";

export interface ProcessLimits {
  /** Of one file. Writing beyond it fails, or ends the writer. */
  readonly maxFileBytes?: number;
  /** Of address space, of each process: for programs that are known. Others reserve far more than they ever use. */
  readonly maxMemoryBytes?: number;
  /** Of all processes and threads of the same user in the same user namespace. */
  readonly maxProcesses?: number;
  /** Of each process. */
  readonly maxOpenFiles?: number;
  /** Of the memory that is written to a file when a process crashes. */
  readonly maxCoreBytes?: number;
  readonly maxCpuSeconds?: number;
}

/** What `prlimit` calls each, and what the kernel calls it in /proc. */
const NAMES = {
  maxFileBytes: ["fsize", "Max file size"],
  maxMemoryBytes: ["as", "Max address space"],
  maxProcesses: ["nproc", "Max processes"],
  maxOpenFiles: ["nofile", "Max open files"],
  maxCoreBytes: ["core", "Max core file size"],
  maxCpuSeconds: ["cpu", "Max cpu time"],
} as const;

/** As a kernel has it that was told nothing else. */
const FEWEST_PIDS = 32_768;
/** Of 1000, of which ours have 0. */
const FIRST_TO_END = 500;

/** The words that go before a command; none where the system has no program for it. */
export function limited(limits: ProcessLimits): string[] {
  const program = findOutsideProgram("prlimit");
  if (program === undefined) return [];
  const ours = readTextOr("/proc/self/limits", "");
  const words = Object.entries(NAMES).flatMap(([key, [name, kernelName]]) => {
    const value = limits[key as keyof ProcessLimits];
    // Our own may be lower: it can't be raised, and to ask for that would keep the command from starting.
    return value === undefined ? [] : [`--${name}=${Math.min(Math.round(value), mostOf(ours, kernelName))}`];
  });
  return words.length === 0 ? [] : [program, ...words, "--"];
}

/** So many that the machine goes on whatever one user starts. */
export function halfOfAllProcesses(): number {
  const most = ["pid_max", "threads-max"].map((name) => Number(readTextOr(`/proc/sys/kernel/${name}`, "")));
  const known = most.filter((one) => one > 0);
  return known.length === 0 ? FEWEST_PIDS / 2 : Math.floor(Math.min(...known) / 2);
}

/** The words that make a command the kernel's first choice when memory runs out, before those that drive it. */
export function firstToEnd(): string[] {
  const program = findOutsideProgram("choom");
  return program === undefined ? [] : [program, "-n", String(FIRST_TO_END), "--"];
}

/** A line of proc_pid_limits(5): the name, what holds now, how far that can be raised. */
function mostOf(limits: string, name: string): number {
  const most = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, "m").exec(limits)?.[1];
  return most === undefined ? Number.POSITIVE_INFINITY : Number(most);
}
