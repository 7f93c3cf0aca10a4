/**
 * Owns what an agent gets of the user's own instructions for it: copies of texts, and a few settings that
 * only change how it answers. Nothing that could run a program, reach a server or bring a key along is
 * copied: no hooks, environment, key helpers or MCP servers.
 */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { userHome } from "../process/index.ts";
import { parseObject, readTextOr } from "../util/index.ts";
import type { HomeFile } from "./adapter.ts";

export interface Instructions {
  /** Files and directories, by their paths from the user's home. The agent finds them at the same paths. */
  readonly paths: readonly string[];
  /** A file of settings, and the keys that are copied from it. */
  readonly settings?: { readonly path: string; readonly keys: readonly string[] };
}

const MAX_FILES = 500;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_DEPTH = 8;

export function instructionFiles({ paths, settings }: Instructions): HomeFile[] {
  const home = userHome();
  const texts = new Copies(home);
  for (const path of paths) texts.add(path, 0);
  return [...texts.files, ...(settings ? settingsFile(home, settings) : [])];
}

/** Copies plain files only: a link could lead to any file that the user can read. */
class Copies {
  readonly files: HomeFile[] = [];
  readonly #home: string;
  #bytes = 0;

  constructor(home: string) {
    this.#home = home;
  }

  add(path: string, depth: number): void {
    const at = join(this.#home, path);
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats?.isDirectory() && depth < MAX_DEPTH)
      for (const name of readdirSync(at).sort()) this.add(join(path, name), depth + 1);
    if (!stats?.isFile() || this.files.length >= MAX_FILES || this.#bytes + stats.size > MAX_BYTES) return;
    this.#bytes += stats.size;
    this.files.push({ path, content: readFileSync(at) });
  }
}

function settingsFile(
  home: string,
  { path, keys }: NonNullable<Instructions["settings"]>,
): readonly HomeFile[] {
  const own = parseObject(readTextOr(join(home, path), "")) ?? {};
  const taken = Object.fromEntries(
    keys.flatMap((key) => (typeof own[key] === "string" ? [[key, own[key]]] : [])),
  );
  return Object.keys(taken).length === 0 ? [] : [{ path, content: JSON.stringify(taken) }];
}
