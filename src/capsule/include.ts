/**
 * Owns `capsule.include`: files of the main checkout that git ignores and a task needs. They are copied in when
 * a capsule is made, and are never part of what it publishes, nor of a snapshot while they are unchanged.
 */
import { closeSync, constants, mkdirSync, openSync, writeSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { contentId } from "./changes.ts";
import { OpenDir } from "./open-dir.ts";
import { type BytePath, fromText, joined, nameOf, toText } from "./path.ts";

/** What was copied, with its content's id; and what was not there. */
export interface Included {
  readonly copied: Record<string, string>;
  readonly missing: readonly string[];
}

export function includeFiles(
  checkout: string,
  root: string,
  paths: readonly string[],
  algorithm: "sha1" | "sha256",
): Included {
  const copied: Record<string, string> = {};
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
  return { copied, missing };

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
    if (rest.length > 0 || !stats.isFile()) return false;
    copied[toText(here)] = copyFile(source, target, name, stats.mode & 0o777);
    return true;
  }

  function copyFile(source: OpenDir, target: OpenDir, name: BytePath, mode: number): string {
    using file = source.file(name);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    const fd = openSync(target.at(name), flags, mode);
    try {
      for (const chunk of file.chunks()) for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
    } finally {
      closeSync(fd);
    }
    return contentId(algorithm, file.chunks(), file.size);
  }
}

/** Whether an entry is still what `include` brought. */
export function isUnchangedInclude(
  included: Readonly<Record<string, string>>,
  dir: OpenDir,
  path: BytePath,
  algorithm: "sha1" | "sha256",
): boolean {
  const id = included[toText(path)];
  if (id === undefined) return false;
  using file = dir.file(nameOf(path));
  return contentId(algorithm, file.chunks(), file.size) === id;
}
