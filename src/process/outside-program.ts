/**
 * Owns where the programs are that we start ourselves, outside of every sandbox: on PATH, but in no checkout. A person
 * may have a directory of a checkout on PATH, and what lies in there is the repo's, or an agent's.
 *
 * Q11 No program of a checkout runs outside a sandbox because it has the name of one that we start.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { isWithin } from "../util/index.ts";
import { lstatOr, parentsOf, realOr, statOr } from "./sandbox/paths.ts";
import { rootDirs } from "./sandbox/root-dirs.ts";

export function findOutsideProgram(name: string): string | undefined {
  for (const dir of (process.env["PATH"] ?? "").split(delimiter)) {
    if (!dir.startsWith("/") || !isExecutable(join(dir, name))) continue;
    const real = realOr(dir);
    if (real !== undefined && isNoCheckouts(dir, real)) return join(real, name);
  }
  return undefined;
}

/** The same, for one without which nothing goes on. A path is one already. */
export function programPath(name: string): string {
  const path = name.includes("/") ? name : findOutsideProgram(name);
  if (path === undefined)
    throw new HoldfastError("program_missing", `there is no program ${name}`, { program: name });
  return path;
}

/** A link of the checkout may lead to programs of the machine's, as those of development shells do. */
function isNoCheckouts(dir: string, real: string): boolean {
  if (isInCheckout(real)) return false;
  return !isInCheckout(dir) || rootDirs().dirs.some((shown) => isWithin(shown, real));
}

const isInCheckout = (dir: string) =>
  parentsOf(join(dir, ".git")).some((parent) => lstatOr(join(parent, ".git")) !== undefined);

function isExecutable(path: string): boolean {
  // Most are not there, and to fail costs more than to look.
  if (!statOr(path)?.isFile()) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
