/**
 * Owns pseudo-terminals: util-linux `script` makes one and stands between it and our pipes, so that nothing native
 * has to be built. It dies with us, and the program in it with it.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { runProgram } from "./program.ts";
import { findProgram } from "./sandbox.ts";

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

const MAX_SIDE = 1000;

/** Only what a terminal can be: these come from outside. */
export function terminalSize(columns: number, rows: number): TerminalSize {
  const side = (value: number, otherwise: number) =>
    Number.isSafeInteger(value) && value > 0 && value <= MAX_SIDE ? value : otherwise;
  return { columns: side(columns, 80), rows: side(rows, 24) };
}

export function assertTerminal(): void {
  for (const name of ["script", "setpriv", "stty"])
    if (!findProgram(name))
      throw new HoldfastError("program_missing", `a terminal needs ${name}, which is not installed`);
}

/** The words that run a command in a terminal of its own. */
export function inTerminal(argv: readonly string[], { columns, rows }: TerminalSize): string[] {
  const line = `stty rows ${rows} cols ${columns}; exec ${argv.map(quoted).join(" ")}`;
  return [...dyingWithUs(), "script", "-qefc", line, "/dev/null"];
}

/** The words that make a program end when we do. Empty where the system can't. */
export function dyingWithUs(): string[] {
  return findProgram("setpriv") ? ["setpriv", "--pdeathsig", "KILL", "--"] : [];
}

/** The program hears of it, as it would from a window. */
export async function resizeTerminal(scriptPid: number, { columns, rows }: TerminalSize): Promise<void> {
  const path = terminalOf(scriptPid);
  if (!path) return;
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
  await runProgram(["stty", "-F", path, "rows", String(rows), "cols", String(columns)], { env });
}

function terminalOf(scriptPid: number): string | undefined {
  try {
    const [child = ""] = readFileSync(`/proc/${scriptPid}/task/${scriptPid}/children`, "utf8").split(" ");
    const path = readlinkSync(`/proc/${child}/fd/0`);
    return /^\/dev\/pts\/\d+$/.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
