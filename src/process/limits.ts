/**
 * Owns the limits that the kernel keeps for a process and all that it starts. Nobody has to look: what goes beyond
 * them fails where it happens.
 */
import { findProgram } from "./find-program.ts";

export interface ProcessLimits {
  /** Of one file. Writing beyond it fails, or ends the writer. */
  readonly maxFileBytes?: number;
  /** Of address space, of each process. */
  readonly maxMemoryBytes?: number;
  /** Of all processes and threads in the same user namespace: only where that is nobody else's. */
  readonly maxProcesses?: number;
  readonly maxCpuSeconds?: number;
}

/** The words that go before a command; none where the system has no program for it. */
export function limited(limits: ProcessLimits): string[] {
  const program = findProgram("prlimit");
  if (program === undefined) return [];
  const { maxFileBytes, maxMemoryBytes, maxProcesses, maxCpuSeconds } = limits;
  const words = Object.entries({
    fsize: maxFileBytes,
    as: maxMemoryBytes,
    nproc: maxProcesses,
    cpu: maxCpuSeconds,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${Math.round(value)}`]));
  return words.length === 0 ? [] : [program, ...words, "--"];
}
