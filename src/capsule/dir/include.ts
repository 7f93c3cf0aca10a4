/**
 * Owns `capsule.include`: files of the main checkout that git ignores and that a task needs. They are copied
 * in when a capsule is made. They are never published, and are not in a snapshot while they are unchanged.
 */
import { closeSync, constants, mkdirSync, openSync, symlinkSync } from "node:fs";
import { HoldfastError } from "../../contract/index.ts";
import { contentId } from "../files/changes.ts";
import { OpenDir, type OpenFile } from "../files/open-dir.ts";
import { type BytePath, fromText, joined, nameOf, toText } from "../files/path.ts";

/** The files that the checkout has, with the ids of their contents, and the names that it does not have. */
export interface Included {
  readonly copied: Record<string, string>;
  readonly missing: readonly string[];
}

export function includeFiles(
  checkout: string,
  root: string,
  paths: readonly string[],
  algorithm: "sha1" | "sha256",
  removed: ReadonlySet<BytePath> = new Set(),
): Included {
  const copied = new Map<string, string>();
  const missing: string[] = [];
  using from = OpenDir.root(checkout);
  using to = OpenDir.root(root);
  for (const text of paths) {
    const path = fromText(text.replace(/\/+$/, ""));
    if (path.split("/").some((part) => part === ".." || part === "." || part === "" || part === ".git"))
      throw new HoldfastError("config_invalid", `capsule.include: ${text} is not a path inside the repo`);
    const found = copy(from, to, path);
    if (!found) missing.push(text);
  }
  return { copied: Object.fromEntries(copied), missing };

  function copy(source: OpenDir, target: OpenDir, path: BytePath): boolean {
    const [first = "", ...rest] = path.split("/");
    return step(source, target, "", first, rest);
  }

  function step(
    source: OpenDir,
    target: OpenDir,
    above: BytePath,
    name: BytePath,
    rest: readonly BytePath[],
  ): boolean {
    const stats = source.stat(name);
    if (!stats) return false;
    const here = joined(above, name);
    if (stats.isDirectory()) {
      if (!target.stat(name)) mkdirSync(target.at(name), { mode: stats.mode & 0o777 });
      using sourceInside = source.child(name);
      using targetInside = target.child(name);
      if (!sourceInside || !targetInside) return false;
      const [next, ...others] = rest;
      if (next !== undefined) return step(sourceInside, targetInside, here, next, others);
      for (const one of sourceInside.names()) step(sourceInside, targetInside, here, one, []);
      return true;
    }
    if (rest.length > 0) return false;
    if (stats.isSymbolicLink()) {
      const link = source.link(name);
      if (!target.stat(name) && !removed.has(here)) symlinkSync(link, target.at(name));
      copied.set(toText(here), contentId(algorithm, [link]));
      return true;
    }
    if (!stats.isFile()) return false;
    using file = source.file(name);
    // A file that exists already came with the task's own files: the task may have changed it, and may have
    // removed others.
    if (!target.stat(name) && !removed.has(here)) copyFile(file, target, name, stats.mode & 0o777);
    copied.set(toText(here), contentId(algorithm, file.chunks(), file.size));
    return true;
  }
}

function copyFile(file: OpenFile, target: OpenDir, name: BytePath, mode: number): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openSync(target.at(name), flags, mode);
  try {
    file.copyTo(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whether an entry is still the file that `include` brought. */
export function isUnchangedInclude(
  included: Readonly<Record<string, string>>,
  dir: OpenDir,
  path: BytePath,
  algorithm: "sha1" | "sha256",
): boolean {
  const id = Object.hasOwn(included, toText(path)) ? included[toText(path)] : undefined;
  if (id === undefined) return false;
  if (dir.stat(nameOf(path))?.isSymbolicLink()) return contentId(algorithm, [dir.link(nameOf(path))]) === id;
  using file = dir.file(nameOf(path));
  return contentId(algorithm, file.chunks(), file.size) === id;
}
