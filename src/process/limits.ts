/**
 * Owns the limits that the kernel enforces for a process and everything that it starts. They need no
 * watching: an operation beyond a limit fails at once.
 */
import { present, readTextOr } from "../util/index.ts";
import type { FirstWrite } from "./first-writes.ts";
import { findOutsideProgram } from "./outside-program.ts";

export interface ProcessLimits {
  /** Size of one file. Writing beyond it fails, or ends the writer. */
  readonly maxFileBytes?: number;
  /** Address space of each process, for known programs only: others reserve far more than they ever use. */
  readonly maxMemoryBytes?: number;
  /** Number of all processes and threads of the same user in the same user namespace. */
  readonly maxProcesses?: number;
  /** For each process. */
  readonly maxOpenFiles?: number;
  /** Size of the memory that is written to a file when a process crashes. */
  readonly maxCoreBytes?: number;
  readonly maxCpuSeconds?: number;
}

/**
 * For each limit: the option of `prlimit`, its name in /proc, the letters that shells use, and the unit of a
 * shell.
 */
const NAMES = {
  maxFileBytes: { option: "fsize", kernel: "Max file size", letters: ["f"], unit: 512 },
  maxMemoryBytes: { option: "as", kernel: "Max address space", letters: ["v"], unit: 1024 },
  maxProcesses: { option: "nproc", kernel: "Max processes", letters: ["u", "p"], unit: 1 },
  maxOpenFiles: { option: "nofile", kernel: "Max open files", letters: ["n"], unit: 1 },
  maxCoreBytes: { option: "core", kernel: "Max core file size", letters: ["c"], unit: 512 },
  maxCpuSeconds: { option: "cpu", kernel: "Max cpu time", letters: ["t"], unit: 1 },
} as const;

/** The default of the kernel. */
const FEWEST_PIDS = 32_768;
/** On a scale of 1000, on which our own processes have 0. */
const FIRST_TO_END = 500;
const SCORE_FILE = "/proc/self/oom_score_adj";

/** The words that go before a command; empty if the system has no program for it. */
export function limited(limits: ProcessLimits): string[] {
  const program = findOutsideProgram("prlimit");
  if (program === undefined) return [];
  const words = attainable(limits).map(({ option, value }) => `--${option}=${value}`);
  return words.length === 0 ? [] : [program, ...words, "--"];
}

/**
 * The same for a shell that becomes the command: another program before it would make every command start
 * later. A shell that can't set a limit ends there.
 */
export function limitingScript(limits: ProcessLimits): string {
  const steps = attainable(limits).map(({ letters: [letter, other], unit, value }) => {
    const most = value === Number.POSITIVE_INFINITY ? "unlimited" : Math.floor(value / unit);
    // The letter for processes is `u` in bash, and `p` in dash and busybox. In bash, `p` is a limit that
    // can't be set.
    const otherwise = other === undefined ? "" : ` 2>/dev/null || ulimit -${other} ${most}`;
    return `{ ulimit -${letter} ${most}${otherwise}; } || exit 126; `;
  });
  return steps.join("");
}

/** For the first process of a pid namespace, from inside. A shell can't set a limit of another process. */
export function limitingFirst({ maxProcesses }: ProcessLimits): string {
  const program = findOutsideProgram("prlimit");
  const [limit] = attainable(present({ maxProcesses }));
  return program && limit ? `${program} --pid 1 --nproc=${limit.value} || exit 126; ` : "";
}

/**
 * None. Where the kernel passes it to a program of the machine, it does so in spite of a limit of 0, and root would read
 * a task's memory there. A limit of 1 prevents that.
 */
export const mostOfCore = () => (readTextOr("/proc/sys/kernel/core_pattern", "").startsWith("|") ? 1 : 0);

/**
 * Our own limit may be lower. It can't be raised, and asking for that would keep the command from starting.
 */
function attainable(limits: ProcessLimits) {
  const ours = readTextOr("/proc/self/limits", "");
  return Object.entries(NAMES).flatMap(([key, { kernel, ...name }]) => {
    const value = limits[key as keyof ProcessLimits];
    return value === undefined ? [] : [{ ...name, value: Math.min(Math.round(value), mostOf(ours, kernel)) }];
  });
}

/** A number that leaves the machine usable whatever one user starts. */
export function halfOfAllProcesses(): number {
  const most = ["pid_max", "threads-max"].map((name) => Number(readTextOr(`/proc/sys/kernel/${name}`, "")));
  const known = most.filter((one) => one > 0);
  return known.length === 0 ? FEWEST_PIDS / 2 : Math.floor(Math.min(...known) / 2);
}

/** How far our own limit can be raised. */
export const ownMostOpenFiles = () => mostOf(readTextOr("/proc/self/limits", ""), NAMES.maxOpenFiles.kernel);

/** Makes the kernel end a command first when memory runs out, before the processes that drive it. */
export function firstToEnd(own = readTextOr(SCORE_FILE, "")): FirstWrite[] {
  // We may not be allowed to lower a higher score.
  if (own === "" || Number(own) >= FIRST_TO_END) return [];
  return [{ text: String(FIRST_TO_END), file: SCORE_FILE }];
}

/** A line of proc_pid_limits(5): the name, the current limit, and how far it can be raised. */
function mostOf(limits: string, name: string): number {
  const most = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, "m").exec(limits)?.[1];
  return most === undefined ? Number.POSITIVE_INFINITY : Number(most);
}
