/**
 * System calls by number, made by perl, which every Debian has: no library stands between a test and the kernel.
 */
import { spawnSync } from "node:child_process";
import { findProgram } from "../../src/process/index.ts";

export interface Call {
  readonly number: number;
  readonly args: readonly (number | string)[];
}

/**
 * Reads a call from each line, and prints its errno, or 0. Words that are not numbers are passed as pointers
 * to text.
 */
const SCRIPT = `
  $| = 1;
  while (<STDIN>) {
    chomp;
    my ($number, @words) = split / /;
    my @args = map { /^-?\\d+$/ ? $_ + 0 : "$_" } @words;
    my $made = syscall($number + 0, @args);
    print $made == -1 ? $! + 0 : 0, "\\n";
  }
`;

/** Why no calls can be made here, if so. */
export const whyNoCalls = findProgram("perl") ? undefined : "perl is not installed";

/** The errno of each call. One process makes them all; the words in `before` start it. */
export function errnosOf(calls: readonly Call[], before: readonly string[], seccomp?: number): number[] {
  const [program = "", ...args] = [...before, "perl", "-e", SCRIPT];
  const { stdout, stderr, status } = spawnSync(program, args, {
    input: calls.map(({ number, args }) => `${[number, ...args].join(" ")}\n`).join(""),
    stdio: ["pipe", "pipe", "pipe", ...(seccomp === undefined ? [] : [seccomp])],
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
    encoding: "utf8",
    timeout: 60_000,
  });
  const errnos = stdout.trim().split("\n").map(Number);
  if (errnos.length === calls.length) return errnos;
  throw new Error(`${errnos.length} of ${calls.length} calls were answered (${status}): ${stderr}`);
}
