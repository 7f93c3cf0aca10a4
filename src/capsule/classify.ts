/**
 * Owns what role a changed path plays: whether a commit of the task would hold it.
 *
 * Git itself decides what is ignored, with an index that we hand it: the capsule's own, copied, so that what
 * an agent has added stays added; where that one is no index, the base's.
 */
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { temporaryPath } from "../util/index.ts";
import type { Entry } from "./changes.ts";
import { runGit } from "./git.ts";
import type { Role } from "./manifest.ts";
import { OpenDir } from "./open-dir.ts";
import { type BytePath, hasGitLike, toBytes } from "./path.ts";
import type { View } from "./view.ts";

export interface Rules {
  /** A gitdir of ours for the rules that stand in no file of the tree. */
  readonly gitDir: string;
  readonly view: View;
  /** Of the base; undefined where there is none. */
  readonly index: string | undefined;
  /** Submodules of the base: what stands inside is not the repo's. */
  readonly gitlinks: ReadonlySet<BytePath>;
  /** Brought in by `include`: never published. */
  readonly included: readonly BytePath[];
}

export async function rolesOf(rules: Rules, entries: readonly Entry[]): Promise<Map<BytePath, Role>> {
  const found = new Map<BytePath, Role>();
  const open: BytePath[] = [];
  for (const { path, kind } of entries) {
    const role = ownRole(rules, path);
    if (role) found.set(path, role);
    // A directory is no file of a commit: its role is only for people.
    else if (kind === "dir") found.set(path, "work");
    else if (kind === "file" || kind === "symlink") open.push(path);
    else found.set(path, "aside");
  }
  const ignored = await ignoredAmong(rules, open);
  for (const path of open) found.set(path, ignored.has(path) ? "ignored" : "work");
  return found;
}

function ownRole({ gitlinks, included }: Rules, path: BytePath): Role | undefined {
  if (path === ".git" || path.startsWith(".git/")) return "gitdir";
  const isBelow = (dir: BytePath) => path.startsWith(`${dir}/`);
  if (hasGitLike(path) || [...gitlinks].some(isBelow)) return "aside";
  return included.some((one) => path === one || isBelow(one)) ? "aside" : undefined;
}

async function ignoredAmong(rules: Rules, paths: readonly BytePath[]): Promise<ReadonlySet<BytePath>> {
  if (paths.length === 0) return new Set();
  const copy = temporaryPath(join(tmpdir(), "index"));
  const copied = copyIndex(rules.view, copy);
  try {
    for (const indexFile of [copied, rules.index, undefined]) {
      const found = await ask(rules, indexFile, paths);
      if (found) return found;
    }
    throw new HoldfastError("git_failed", "git can't tell which files are ignored");
  } finally {
    rmSync(copy, { force: true });
  }
}

function copyIndex(view: View, to: string): string | undefined {
  try {
    using root = OpenDir.root(view.root);
    using gitdir = root.child(".git");
    using index = gitdir?.file("index");
    if (!index) return undefined;
    const fd = openSync(to, "wx", 0o600);
    try {
      for (const chunk of index.chunks()) writeSync(fd, chunk);
    } finally {
      closeSync(fd);
    }
    return to;
  } catch {
    return undefined;
  }
}

/** Undefined when git can't work with that index. */
async function ask(
  { gitDir, view }: Rules,
  indexFile: string | undefined,
  paths: readonly BytePath[],
): Promise<ReadonlySet<BytePath> | undefined> {
  const { workTree, enter } = view;
  const place = { gitDir, workTree, enter, indexFile: indexFile ?? "/dev/null/none" };
  const args = ["check-ignore", "-z", "--stdin", ...(indexFile ? [] : ["--no-index"])];
  // With `./` before it no name is taken for anything but a name.
  const input = [toBytes(paths.map((path) => `./${path}\0`).join(""))];
  const { exitCode, stdout } = await runGit(place, args, { input, accept: [0, 1, 128] });
  if (exitCode === 128) return undefined;
  return new Set(
    stdout
      .toString("latin1")
      .split("\0")
      .filter(Boolean)
      .map((path) => path.slice(2)),
  );
}

/** Of files with CRLF at the ends of lines: those that git stores with LF, as the tree's own attributes say. */
export async function storedWithLf(
  { gitDir, view }: Rules,
  files: ReadonlyMap<BytePath, { readonly isBinary: boolean }>,
): Promise<BytePath[]> {
  if (files.size === 0) return [];
  const { workTree, enter } = view;
  const input = [toBytes([...files.keys()].map((path) => `./${path}\0`).join(""))];
  const { stdout } = await runGit(
    { gitDir, workTree, enter },
    ["check-attr", "-z", "--stdin", "text", "eol"],
    { input },
  );
  const fields = stdout.toString("latin1").split("\0");
  const found = new Set<BytePath>();
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [name = "", attribute, value = ""] = fields.slice(index, index + 3);
    const path = name.replace(/^\.\//, "");
    const isText = attribute === "eol" ? ["lf", "crlf"].includes(value) : value === "set";
    if (isText || (attribute === "text" && value === "auto" && !files.get(path)?.isBinary)) found.add(path);
  }
  return [...found];
}
