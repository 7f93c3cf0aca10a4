/**
 * Owns the role of a changed path: whether a commit of the task would hold it.
 *
 * Git itself decides what is ignored, confined (confined-1), with an index that Holdfast passes to it: a copy
 * of the capsule's own, so that what an agent has added stays added, or, if that one is not an index, the
 * base's. A path for which git gives no answer is `aside`: it is kept, and not published.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { type Clock, type Deadline, deadline } from "../../util/index.ts";
import type { Entry } from "../files/changes.ts";
import { OpenDir } from "../files/open-dir.ts";
import { ancestorsOf, type BytePath, fromText, nameOf, parentOf, toBytes } from "../files/path.ts";
import type { View } from "../files/view.ts";
import type { Answer, ConfinedGit } from "../git/confined.ts";
import { type Role, roleByName } from "../store/manifest.ts";

export interface Rules {
  readonly view: View;
  readonly confined: ConfinedGit;
  /** A directory for temporary files. */
  readonly aside: string;
  /** The index of the base; undefined if there is none. */
  readonly index: string | undefined;
  /** Submodules of the base: what is inside belongs to another repo. */
  readonly gitlinks: ReadonlySet<BytePath>;
  /** What the base has, if it has no index. */
  readonly tracked: ReadonlySet<BytePath>;
  /** Brought in by `include`: never published. */
  readonly included: readonly BytePath[];
  readonly algorithm: "sha1" | "sha256";
  /** How long git may take for one kind of question: there are patterns that take forever. */
  readonly answerMs: number;
  readonly clock: Clock;
  /** All inputs that are not in the capsule, as one text. While it is the same, the answers are the same. */
  readonly key: string;
  /** Those of these paths that the base has with CRLF. */
  committedCrlf(paths: readonly BytePath[]): Promise<ReadonlySet<BytePath>>;
}

export interface Roles {
  readonly roles: Map<BytePath, Role>;
  /** Paths that are `aside` because git gave no answer about them. */
  readonly unanswered: readonly BytePath[];
}

/** A longer file of rules is not read. */
const MAX_RULES_BYTES = 8 * 1024 * 1024;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;
/** Each round names one submodule of the agent's own index, whose files are plain files here. */
const MAX_SUBMODULES = 16;

/** The roles of the entries that are asked about, among all that differ. */
export async function rolesOf(
  rules: Rules,
  entries: readonly Entry[],
  asked: readonly Entry[] = entries,
): Promise<Roles> {
  const roles = new Map<BytePath, Role>();
  const open: BytePath[] = [];
  const unanswered: BytePath[] = [];
  const unreadable = new Set(entries.filter(isUnreadableRules).map(({ path }) => parentOf(path)));
  const isUnreadable = (path: BytePath) =>
    unreadable.size > 0 && ["", ...ancestorsOf(path)].some((dir) => unreadable.has(dir));
  for (const { path, kind } of asked) {
    const role = ownRole(rules, path);
    if (role) roles.set(path, role);
    // A commit does not hold directories: the role is only for people.
    else if (kind === "dir") roles.set(path, "work");
    else if (kind !== "file" && kind !== "symlink") roles.set(path, "aside");
    else (isUnreadable(path) ? unanswered : open).push(path);
  }
  const ignored = await ignoredAmong(rules, open);
  for (const path of open) {
    if (ignored) roles.set(path, ignored.has(path) ? "ignored" : "work");
    else unanswered.push(path);
  }
  for (const path of unanswered) roles.set(path, "aside");
  return { roles, unanswered };
}

/** Whether git's answers about other paths depend on this one. */
export function isRules(path: BytePath): boolean {
  return path === ".git/index" || [".gitignore", ".gitattributes"].includes(nameOf(path));
}

/**
 * A pipe in the place of these files would make git wait forever, and an endless file would fill its memory.
 */
function isUnreadableRules({ path, kind, size }: Entry): boolean {
  if (![".gitignore", ".gitattributes"].includes(nameOf(path))) return false;
  return kind === "file" ? size > MAX_RULES_BYTES : kind !== "symlink" && kind !== "dir";
}

function ownRole({ gitlinks, included }: Rules, path: BytePath): Role | undefined {
  const byName = roleByName(path);
  if (byName) return byName;
  const isBelow = (dir: BytePath) => path.startsWith(`${dir}/`);
  if ([...gitlinks].some(isBelow)) return "aside";
  return included.some((one) => path === one || isBelow(one)) ? "aside" : undefined;
}

async function ignoredAmong(
  rules: Rules,
  paths: readonly BytePath[],
): Promise<ReadonlySet<BytePath> | undefined> {
  if (paths.length === 0) return new Set();
  const patience = deadline(rules.clock, rules.answerMs);
  const copied = copyIndex(rules.view, join(rules.aside, "index"));
  for (const indexFile of [copied, rules.index]) {
    const found = indexFile && (await ask(rules, indexFile, paths, patience));
    if (found) return found;
  }
  // Without an index, git takes tracked files for ignored ones. Those that the base has are not ignored.
  if (rules.index !== undefined) return undefined;
  const found = await ask(rules, undefined, paths, patience);
  return found && new Set([...found].filter((path) => !rules.tracked.has(path)));
}

/** The capsule's own index, as a file of Holdfast. */
export function copyIndex(view: View, to: string): string | undefined {
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

/** Which of them are ignored; undefined if git does not answer. */
async function ask(
  { confined }: Rules,
  indexFile: string | undefined,
  paths: readonly BytePath[],
  patience: Deadline,
): Promise<ReadonlySet<BytePath> | undefined> {
  const args = ["check-ignore", "-z", "--stdin", ...(indexFile ? [] : ["--no-index"])];
  let asked = paths;
  for (let round = 0; round <= MAX_SUBMODULES; round += 1) {
    const timeoutMs = patience.leftMs;
    if (timeoutMs === 0) return undefined;
    // With `./` before it, a name is not taken for anything else.
    const input = toBytes(asked.map((path) => `./${path}\0`).join(""));
    const answer = await confined.ask(args, {
      input: [input],
      accept: [0, 1, 128],
      timeoutMs,
      maxOutputBytes: input.length,
      indexFile: indexFile ?? "/dev/null/none",
      readable: indexFile ? [indexFile] : [],
    });
    if (!answer) return undefined;
    if (answer.exitCode !== 128) return namesIn(answer);
    const submodule = /is in submodule '(?:\.\/)?(.+)'/.exec(answer.stderr)?.[1];
    const others = submodule && asked.filter((path) => !path.startsWith(`${fromText(submodule)}/`));
    if (!others || others.length === asked.length) return undefined;
    asked = others;
  }
  return undefined;
}

function namesIn({ stdout }: Answer): ReadonlySet<BytePath> {
  const names = stdout.toString("latin1").split("\0");
  return new Set(names.map((path) => path.slice(2)));
}
