/**
 * Owns what role a changed path plays: whether a commit of the task would hold it.
 *
 * Git itself decides what is ignored, with an index that we hand it: the capsule's own, copied, so that what
 * an agent has added stays added; where that one is no index, the base's.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import type { Entry } from "./changes.ts";
import { runGit } from "./git.ts";
import { type Role, roleByName } from "./manifest.ts";
import { OpenDir } from "./open-dir.ts";
import { type BytePath, fromText, nameOf, parentOf, toBytes } from "./path.ts";
import type { View } from "./view.ts";

export interface Rules {
  /** A gitdir of ours for the rules that stand in no file of the tree. */
  readonly gitDir: string;
  readonly view: View;
  /** A directory for what is on its way. */
  readonly aside: string;
  /** Of the base; undefined where there is none. */
  readonly index: string | undefined;
  /** Submodules of the base: what stands inside is not the repo's. */
  readonly gitlinks: ReadonlySet<BytePath>;
  /** What the base has, where it has no index. */
  readonly tracked: ReadonlySet<BytePath>;
  /** Brought in by `include`: never published. */
  readonly included: readonly BytePath[];
  /** A file with the user's own rules, which stand in no file of the tree. */
  readonly excludes: string;
  /** What the base has at a path. */
  committed(path: BytePath): Promise<Buffer | undefined>;
}

export async function rolesOf(rules: Rules, entries: readonly Entry[]): Promise<Map<BytePath, Role>> {
  const found = new Map<BytePath, Role>();
  const open: BytePath[] = [];
  const unreadable = entries.filter(isUnreadableRules).map(({ path }) => parentOf(path));
  const isBelow = (dir: BytePath, path: BytePath) => dir === "" || path.startsWith(`${dir}/`);
  for (const { path, kind } of entries) {
    const role = ownRole(rules, path) ?? (unreadable.some((dir) => isBelow(dir, path)) ? "aside" : undefined);
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

/** A pipe in the place of these files would keep git waiting: what they would say of is not published. */
function isUnreadableRules({ path, kind }: Entry): boolean {
  return (
    [".gitignore", ".gitattributes"].includes(nameOf(path)) && !["file", "symlink", "dir"].includes(kind)
  );
}

function ownRole({ gitlinks, included }: Rules, path: BytePath): Role | undefined {
  const byName = roleByName(path);
  if (byName) return byName;
  const isBelow = (dir: BytePath) => path.startsWith(`${dir}/`);
  if ([...gitlinks].some(isBelow)) return "aside";
  return included.some((one) => path === one || isBelow(one)) ? "aside" : undefined;
}

async function ignoredAmong(rules: Rules, paths: readonly BytePath[]): Promise<ReadonlySet<BytePath>> {
  if (paths.length === 0) return new Set();
  const copied = copyIndex(rules.view, join(rules.aside, "index"));
  for (const indexFile of [copied, rules.index]) {
    const found = indexFile && (await ask(rules, indexFile, paths));
    if (found) return found;
  }
  // Without an index git takes tracked files for ignored ones: those that the base has are not.
  const found = await ask(rules, undefined, paths);
  if (!found) throw new HoldfastError("git_failed", "git can't tell which files are ignored");
  return new Set([...found].filter((path) => !rules.tracked.has(path)));
}

const MAX_INDEX_BYTES = 512 * 1024 * 1024;

function copyIndex(view: View, to: string): string | undefined {
  try {
    using root = OpenDir.root(view.root);
    using gitdir = root.child(".git");
    using index = gitdir?.file("index");
    if (!index || index.size > MAX_INDEX_BYTES) return undefined;
    const fd = openSync(to, "w", 0o600);
    try {
      index.copyTo(fd);
    } finally {
      closeSync(fd);
    }
    return to;
  } catch {
    return undefined;
  }
}

/** Patterns can be made that take forever. */
const ASK_TIMEOUT_MS = 60_000;

/** Undefined when git can't work with that index. */
async function ask(
  { gitDir, view, excludes }: Pick<Rules, "gitDir" | "view" | "excludes">,
  indexFile: string | undefined,
  paths: readonly BytePath[],
): Promise<ReadonlySet<BytePath> | undefined> {
  const { workTree, enter } = view;
  const place = { gitDir, workTree, enter, indexFile: indexFile ?? "/dev/null/none" };
  const args = ["check-ignore", "-z", "--stdin", ...(indexFile ? [] : ["--no-index"])];
  // With `./` before it no name is taken for anything but a name.
  const input = [toBytes(paths.map((path) => `./${path}\0`).join(""))];
  const config = [`core.excludesFile=${excludes}`];
  const options = { input, accept: [0, 1, 128], timeoutMs: ASK_TIMEOUT_MS, config };
  const { exitCode, stdout, stderr } = await runGit(place, args, options);
  if (exitCode === 128) {
    // What the agent's index takes for a submodule is not asked about; the files in it are plain files here.
    const submodule = /is in submodule '(?:\.\/)?(.+)'/.exec(stderr)?.[1];
    const others = submodule && paths.filter((path) => !path.startsWith(`${fromText(submodule)}/`));
    return others && others.length < paths.length
      ? ask({ gitDir, view, excludes }, indexFile, others)
      : undefined;
  }
  return new Set(
    stdout
      .toString("latin1")
      .split("\0")
      .filter(Boolean)
      .map((path) => path.slice(2)),
  );
}
