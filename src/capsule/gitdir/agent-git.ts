/**
 * Owns what Holdfast reads and writes of a capsule's own gitdir outside a sandbox: a few plain files, never
 * through a link, never more than a fixed length, and never with git (confined-1). If the agent changed the
 * form of the gitdir, Holdfast knows nothing about it and leaves it as it is.
 */
import { closeSync, constants, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { errorCode, temporaryPath } from "../../util/index.ts";
import { Cursor } from "../files/cursor.ts";
import { OpenDir } from "../files/open-dir.ts";
import { ancestorsOf, type BytePath, fromText, joined, toBytes } from "../files/path.ts";

/** The user's refs as the capsule last got them. The file is in the gitdir, so that it moves with it. */
export const GIVEN_REFS = "holdfast-refs";
const MAX_LINE_BYTES = 4096;
const MAX_REFS_BYTES = 64 * 1024 * 1024;
const MAX_LOOSE_REFS = 20_000;
const MAX_REF_DEPTH = 100;
/** Something else is in the place of one of git's files or directories, or the name is not valid. */
const OTHER_FORM = ["ENAMETOOLONG", "EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST", "EACCES", "EPERM"];
/** What git leaves in the gitdir while one of these is not finished. */
const UNFINISHED = {
  "rebase-merge": "rebase",
  "rebase-apply": "rebase",
  MERGE_HEAD: "merge",
  CHERRY_PICK_HEAD: "cherry-pick",
  REVERT_HEAD: "revert",
} as const;

export interface Ref {
  readonly name: string;
  readonly id: string;
}
type Refs = readonly Ref[];

export function packedRefs(refs: Refs): string {
  const lines = refs.map(({ id, name }) => `${id} ${name}\n`);
  return `# pack-refs with: sorted \n${lines.join("")}`;
}

export interface AgentHead {
  /** The branch that is checked out; null when HEAD is a commit. */
  readonly branch: BytePath | null;
  /** Undefined if it has none yet, or none that can be read. */
  readonly commit: string | undefined;
}

export class AgentGit {
  readonly #root: string;

  /** `root`: of a view, while nothing runs in the capsule. */
  constructor(root: string) {
    this.#root = root;
  }

  get head(): AgentHead {
    const text = this.#line("HEAD") ?? "";
    const branch = /^ref: (refs\/heads\/\S+)$/.exec(text)?.[1];
    if (branch === undefined || !isPlainPath(branch)) return { branch: null, commit: idIn(text) };
    const loose = this.#line(branch);
    return { branch, commit: loose === undefined ? this.#packed.get(branch) : idIn(loose) };
  }

  /** A rebase, merge or the like that was begun and not finished. */
  get unfinished(): string | undefined {
    using cursor = new Cursor(this.#root);
    return Object.entries(UNFINISHED).find(([name]) =>
      cursor.inParent(`.git/${name}`, (dir, own) => dir.stat(own)),
    )?.[1];
  }

  /** Moves the branch that is checked out, and writes the index of its new commit. */
  moveBranch(branch: BytePath, commit: string, index: Buffer): void {
    this.#write("index", index);
    // If all refs are packed, a branch has no directory.
    this.#write(branch, Buffer.from(`${commit}\n`), { make: true });
  }

  /**
   * Updates the user's refs to their present values. Refs that the agent made, moved or removed stay as they
   * are.
   */
  refreshRefs(refs: Refs): void {
    const given = parseRefs(this.#read(GIVEN_REFS, MAX_REFS_BYTES));
    const current = refs.map(({ name, id }) => ({ name: fromText(name), id }));
    const isCurrent =
      given.size === current.length && current.every(({ name, id }) => given.get(name) === id);
    if (isCurrent) return;
    const loose = this.#looseRefs();
    if (loose === undefined) return;
    const packed = this.#packed;
    const own = [...packed].filter(([name, id]) => given.get(name) !== id);
    const taken = new Set([...own.map(([name]) => name), ...loose]);
    const above = new Set([...taken].flatMap(ancestorsOf));
    const users = current.filter(({ name }) => {
      const wasRemoved = given.has(name) && !packed.has(name);
      // A ref can't have the name of a directory of other refs.
      const isBarred = above.has(name) || ancestorsOf(name).some((one) => taken.has(one));
      return !taken.has(name) && !wasRemoved && !isBarred;
    });
    const all = [...users, ...own.map(([name, id]) => ({ name, id }))];
    this.#write("packed-refs", toBytes(packedRefs(all.sort((a, b) => (a.name < b.name ? -1 : 1)))));
    this.#write(GIVEN_REFS, toBytes(packedRefs(current)));
  }

  get #packed(): Map<BytePath, string> {
    return parseRefs(this.#read("packed-refs", MAX_REFS_BYTES));
  }

  /** Undefined if there are too many to read. */
  #looseRefs(): Set<BytePath> | undefined {
    const found = new Set<BytePath>();
    let met = 0;
    const isListed = (dir: OpenDir, path: BytePath, depth = 0): boolean =>
      dir.names().every((name) => {
        met += 1;
        if (met > MAX_LOOSE_REFS || depth > MAX_REF_DEPTH) return false;
        using inside = dir.child(name);
        if (inside) return isListed(inside, joined(path, name), depth + 1);
        found.add(joined(path, name));
        return true;
      });
    using root = OpenDir.root(this.#root);
    using gitdir = root.child(".git");
    using refs = gitdir?.child("refs");
    return refs && isListed(refs, "refs") ? found : undefined;
  }

  #line(path: BytePath): string | undefined {
    return this.#read(path, MAX_LINE_BYTES)?.toString("latin1").trim();
  }

  #read(path: BytePath, maxBytes: number): Buffer | undefined {
    using cursor = new Cursor(this.#root);
    return unlessOtherForm(() =>
      cursor.inParent(`.git/${path}`, (dir, name) => {
        if (!dir.stat(name)?.isFile()) return undefined;
        using file = dir.file(name);
        return file.size > maxBytes ? undefined : Buffer.concat([...file.chunks()]);
      }),
    );
  }

  #write(path: BytePath, bytes: Buffer, options: { readonly make?: boolean } = {}): void {
    using cursor = new Cursor(this.#root);
    unlessOtherForm(() =>
      cursor.inParent(`.git/${path}`, (dir, name) => replaceIn(dir, name, bytes), options),
    );
  }
}

function replaceIn(dir: OpenDir, name: BytePath, bytes: Buffer): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const temporary = temporaryPath("ref");
  const fd = openSync(dir.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    renameSync(dir.at(temporary), dir.at(name));
  } finally {
    closeSync(fd);
    rmSync(dir.at(temporary), { force: true });
  }
}

function unlessOtherForm<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (OTHER_FORM.includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/** The agent wrote it, so it must not lead out of the gitdir. */
function isPlainPath(path: BytePath): boolean {
  return !path.includes("\0") && path.split("/").every((part) => !["", ".", ".."].includes(part));
}

function parseRefs(bytes: Buffer | undefined): Map<BytePath, string> {
  const rows = (bytes?.toString("latin1") ?? "")
    .split("\n")
    .map((line) => /^([0-9a-f]{40,64}) (refs\/\S+)$/.exec(line));
  return new Map(rows.flatMap((row) => (row ? [[row[2] ?? "", row[1] ?? ""] as const] : [])));
}

function idIn(text: string): string | undefined {
  return /^[0-9a-f]{40,64}$/.test(text) ? text : undefined;
}
