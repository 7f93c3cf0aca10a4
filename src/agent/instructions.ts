/**
 * Owns what an agent gets of the user's own instructions for it: copies of texts, and a few settings that
 * only change how it answers. Nothing that could run a program, reach a server or bring a key along is
 * copied: no hooks, environment, key helpers or MCP servers.
 */
import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { parseObject, readTextOr } from "../util/index.ts";
import type { HomeFile } from "./adapter.ts";

export interface Instructions {
  /** The user's directory, and the directory in HOME in which the agent looks for the same. */
  readonly from: string;
  readonly to: string;
  /** Files and directories in both. */
  readonly names: readonly string[];
  /** A file of settings, and the keys that are copied from it. */
  readonly settings?: { readonly name: string; readonly keys: readonly string[] };
}

const MAX_FILES = 500;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_DEPTH = 8;

export function instructionFiles({ from, to, names, settings }: Instructions): HomeFile[] {
  const copies = new Copies();
  // The user may keep them elsewhere and link them here. What such a directory contains may come from others.
  for (const name of names) copies.add(realpathOr(join(from, name)), join(to, name), 0);
  return [...copies.files, ...(settings ? settingsFile(from, to, settings) : [])];
}

/** Copies plain files only: a link could lead to any file that the user can read. */
class Copies {
  readonly files: HomeFile[] = [];
  #bytes = 0;

  add(at: string, path: string, depth: number): void {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats?.isDirectory() && depth < MAX_DEPTH)
      for (const name of readdirSync(at).sort()) this.add(join(at, name), join(path, name), depth + 1);
    if (!stats?.isFile() || this.files.length >= MAX_FILES || this.#bytes + stats.size > MAX_BYTES) return;
    this.#bytes += stats.size;
    const isExecutable = (stats.mode & 0o100) !== 0;
    this.files.push({ path, content: readFileSync(at), isExecutable, isReadOnly: true });
  }
}

function realpathOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function settingsFile(
  from: string,
  to: string,
  { name, keys }: NonNullable<Instructions["settings"]>,
): readonly HomeFile[] {
  const own = parseObject(readTextOr(join(from, name), "")) ?? {};
  const taken = Object.fromEntries(
    keys.flatMap((key) => (typeof own[key] === "string" ? [[key, own[key]]] : [])),
  );
  return Object.keys(taken).length === 0 ? [] : [{ path: join(to, name), content: JSON.stringify(taken) }];
}
