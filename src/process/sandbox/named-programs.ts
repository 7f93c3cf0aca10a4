/**
 * Owns the question which file a name means inside a sandbox: where a shell inside would look for it, in the
 * same order. A file among the capsule's files is named by its path there, because only the tree shows what
 * it is.
 */
import { accessSync, constants } from "node:fs";
import { isAbsolute, join, normalize, relative } from "node:path";
import { isWithin } from "../../util/index.ts";
import { nearest, realOr, statOr } from "./paths.ts";
import { rootDirs } from "./root-dirs.ts";
import type { Sandbox } from "./sandbox.ts";

export type ShownProgram =
  | { readonly kind: "tree"; readonly path: string }
  | { readonly kind: "file"; readonly path: string };

/** The first one that exists counts. Whether those in the tree exist is for the caller to check. */
export function programsNamed(sandbox: Sandbox, name: string): ShownProgram[] {
  if (name === "") return [];
  if (!name.includes("/")) {
    const dirs = (sandbox.tools.env["PATH"] ?? "").split(":").filter((dir) => dir.startsWith("/"));
    return dirs.flatMap((dir) => programAt(sandbox, join(dir, name)));
  }
  return programAt(sandbox, isAbsolute(name) ? normalize(name) : join(sandbox.at, name));
}

function programAt(sandbox: Sandbox, path: string): ShownProgram[] {
  if (isWithin(sandbox.at, path)) return [{ kind: "tree", path: relative(sandbox.at, path) }];
  const real = realOr(path);
  // A link of the machine into the checkout leads to the capsule's files inside, which it does not do
  // outside.
  if (real === undefined || isWithin(sandbox.at, real)) return [];
  return isShown(sandbox, real) && isExecutable(real) ? [{ kind: "file", path }] : [];
}

function isShown({ tools, hidden }: Sandbox, real: string): boolean {
  const shown = [...rootDirs().dirs, ...tools.read];
  if (tools.read.includes(real)) return true;
  const around = nearest([...shown, ...tools.covered, ...hidden], real);
  return around !== undefined && shown.includes(around);
}

function isExecutable(path: string): boolean {
  if (!statOr(path)?.isFile()) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
