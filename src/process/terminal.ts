/**
 * Owns pseudo-terminals: util-linux `script` makes one and stands between it and our pipes, so that no native
 * code has to be built.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { quoted, readTextOr } from "../util/index.ts";
import { findOutsideProgram, programPath } from "./outside-program.ts";
import { runProgram } from "./program.ts";
import { treeOf } from "./tree.ts";

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

const MAX_SIDE = 1000;
/** On a busy machine it takes a while until the command has its terminal. */
const OPEN_ATTEMPTS = 1000;
/** A program in the sandbox makes the terminal, without notifying us. */
const OPEN_MS = 20;
const USUAL_SIZE = '[ "$(stty size)" != "0 0" ] || stty rows 24 cols 80';

/** Accepts only possible sizes, because these come from outside. */
export function terminalSize(columns: number, rows: number): TerminalSize {
  const side = (value: number, otherwise: number) =>
    Number.isSafeInteger(value) && value > 0 && value <= MAX_SIDE ? value : otherwise;
  return { columns: side(columns, 80), rows: side(rows, 24) };
}

export function assertTerminal(): void {
  for (const name of ["script", "setpriv", "stty"])
    if (!findOutsideProgram(name))
      throw new HoldfastError("program_missing", `a terminal needs ${name}, which is not installed`);
}

/** Words that run a command in a terminal of its own, with a usual size until it gets another. */
export function inTerminal(argv: readonly string[]): string[] {
  return ["script", "-qefc", `${USUAL_SIZE}; exec ${argv.map(quoted).join(" ")}`, "/dev/null"];
}

/** Words that make a program end when we do. Empty if the system can't do that. */
export function dyingWithUs(): string[] {
  const program = findOutsideProgram("setpriv");
  return program === undefined ? [] : [program, "--pdeathsig", "KILL", "--"];
}

/**
 * Makes our own terminal a mere pipe of keys and characters: the program's terminal interprets them. Returns
 * a function that restores it. (Node's raw mode still changes line feeds.)
 */
export function makeRaw(): () => void {
  const stty = (...args: string[]) =>
    spawnSync(programPath("stty"), args, {
      stdio: ["inherit", "pipe", "ignore"],
      encoding: "utf8",
    }).stdout?.trim() ?? "";
  const before = stty("-g");
  stty("raw", "-echo");
  return () => void stty(before || "sane");
}

/** The program is notified, as it is by a window. */
export async function resizeTerminal(commandPid: number, { columns, rows }: TerminalSize): Promise<void> {
  let path = terminalOf(commandPid);
  // The terminal is made a moment after its program was started.
  for (
    let attempt = 1;
    !path && attempt <= OPEN_ATTEMPTS && existsSync(`/proc/${commandPid}`);
    attempt += 1
  ) {
    await sleep(OPEN_MS);
    path = terminalOf(commandPid);
  }
  if (!path) return;
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
  await runProgram(["stty", "-F", path, "rows", String(rows), "cols", String(columns)], { env });
}

/**
 * The terminal of the first process that has one. It is found by its descriptor, because a path may mean
 * something else to the command. Not before it has its usual size, which would otherwise replace the new one.
 */
function terminalOf(commandPid: number): string | undefined {
  for (const pid of treeOf(commandPid)) {
    try {
      const path = `/proc/${pid}/fd/0`;
      if (!/^\/dev\/pts\/\d+$/.test(readlinkSync(path))) continue;
      const isSizing = readTextOr(`/proc/${pid}/cmdline`, "").includes(USUAL_SIZE);
      return isSizing ? undefined : path;
    } catch {
      // It has ended meanwhile.
    }
  }
  return undefined;
}
