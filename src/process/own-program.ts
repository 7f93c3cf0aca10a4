/**
 * Owns where our own programs are: each is the `main` of a folder, beside the code that runs, whether that is
 * the source, the bundle of the command, or the bundle of the library.
 *
 * A folder asks only for its own program. Code that starts the program of another folder is given its path by
 * the layers above.
 */
import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../contract/index.ts";

/** For Node, for a program that mostly waits: its heap may stay small. */
export const SMALL_HEAP = ["--max-semi-space-size=1", "--v8-pool-size=1"];

export function ownProgram(folder: string): string {
  const here = fileURLToPath(import.meta.url);
  for (let dir = dirname(here), up = 0; up < 3; dir = dirname(dir), up += 1) {
    const path = join(dir, folder, `main${extname(here)}`);
    if (existsSync(path)) return path;
  }
  throw new HoldfastError("start_failed", `the program ${folder} is not part of this installation`);
}
