/**
 * Owns where our own programs are: each is the `main` of a folder, beside the code that runs, be that the sources, the
 * bundle of the command, or that of the library.
 *
 * A folder asks for its own program alone. One that has to start another's is told where it is by those above it.
 */
import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../contract/index.ts";

/** For Node, of a program that mostly waits: its heap need not be ready for more. */
export const SMALL_HEAP = ["--max-semi-space-size=1", "--v8-pool-size=1"];

export function ownProgram(folder: string): string {
  const here = fileURLToPath(import.meta.url);
  for (let dir = dirname(here), up = 0; up < 3; dir = dirname(dir), up += 1) {
    const path = join(dir, folder, `main${extname(here)}`);
    if (existsSync(path)) return path;
  }
  throw new HoldfastError("start_failed", `the program ${folder} is not part of this installation`);
}
