/**
 * Owns where the programs are that Holdfast starts outside of every sandbox: on PATH, but not in a checkout.
 * A person may have a directory of a checkout on PATH, and programs in there come from the repo or from an
 * agent.
 *
 * program-1 No program of a checkout runs outside a sandbox because it has the name of one that Holdfast
 *    starts.
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

/** The same, for a program that is required. A path is returned as it is. */
export function programPath(name: string): string {
  const path = name.includes("/") ? name : findOutsideProgram(name);
  if (path === undefined)
    throw new HoldfastError("program_missing", `there is no program ${name}`, { program: name });
  return path;
}

/** A link in the checkout may lead to programs of the machine, as those of development shells do. */
function isNoCheckouts(dir: string, real: string): boolean {
  if (isInCheckout(real)) return false;
  return !isInCheckout(dir) || rootDirs().dirs.some((shown) => isWithin(shown, real));
}

const isInCheckout = (dir: string) =>
  parentsOf(join(dir, ".git")).some((parent) => lstatOr(join(parent, ".git")) !== undefined);

function isExecutable(path: string): boolean {
  // Most do not exist, and a failure is slower than this check.
  if (!statOr(path)?.isFile()) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
