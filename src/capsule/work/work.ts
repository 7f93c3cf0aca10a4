/**
 * Owns the task's work as git sees it: the tree of a commit, the commit, the patch. All of it can be made
 * again from a snapshot and its base, so nothing here has to be kept.
 */

import { writeFile } from "node:fs/promises";
import { type BytePath, quoted, toBytes } from "../files/path.ts";
import { type GitPlace, git, gitLine, gitToFile, type Identity, runGit } from "../git/git.ts";
import { GITLINK_MODE, NO_MODE, type RawChange, rawDiff } from "../git/raw-diff.ts";
import { treeOf } from "../repo/commits.ts";
import { objectsLink, type Repo, userPlace, withUsersObjects } from "../repo/repo.ts";
import type { SnapshotManifest } from "../store/manifest.ts";
import { importObjects, streamRef } from "../store/objects.ts";
import type { Store } from "../store/store.ts";

export interface Work {
  readonly commit: string;
  readonly tree: string;
}

export interface WorkCommit {
  readonly tree: string;
  readonly base: string | null;
  readonly message: string;
  readonly identity: Identity;
  readonly atMs: number;
}

/** Makes a commit of an existing tree, on its base. */
export async function commitWork(store: GitPlace, work: WorkCommit): Promise<string> {
  const input = [Buffer.from(commitText(work))];
  return gitLine(store, ["hash-object", "-t", "commit", "-w", "--stdin"], { input });
}

/** In git's own form. */
export function commitText({ tree, base, message, identity, atMs }: WorkCommit): string {
  const who = signature(identity, atMs);
  const parent = base === null ? "" : `parent ${base}\n`;
  return `tree ${tree}\n${parent}author ${who}\ncommitter ${who}\n\n${message}`;
}

export const signature = ({ name, email }: Identity, atMs: number) =>
  `${name} <${email}> ${Math.trunc(atMs / 1000)} +0000`;

export interface WorkRequest {
  readonly repo: Repo;
  readonly store: Store;
  readonly manifest: SnapshotManifest;
  readonly contents: ReadonlyMap<BytePath, string>;
  readonly converted: ReadonlyMap<BytePath, string>;
  readonly identity: Identity;
  readonly message: string;
  readonly atMs: number;
}

const COMMIT_MARK = 1;

/** The commit of the task's work on its base. The same request gives the same commit. */
export async function makeWork(request: WorkRequest): Promise<Work> {
  const { repo, store, manifest } = request;
  const lowerTree = manifest.lower === null ? null : await treeOf(repo, manifest.lower);
  // Nothing of it differs, so it is its base.
  const { base, lower } = manifest;
  if (lowerTree !== null && base !== null && base === lower && !hasWork(manifest))
    return { commit: base, tree: lowerTree };
  const gitlinks = await movedGitlinks(repo, lower, base);
  const { ids, answers } = await importObjects(store, stream(request, lowerTree, gitlinks), [
    objectsLink(repo),
  ]);
  const commit = ids.get(COMMIT_MARK);
  const tree = /^040000 tree ([0-9a-f]{40,64})/m.exec(answers)?.[1] ?? (await treeOf(repo, null));
  if (commit === undefined) throw new Error("git made no commit of the work");
  return { commit, tree };
}

async function* stream(
  { store, manifest, contents, converted, identity, message, atMs }: WorkRequest,
  lowerTree: string | null,
  gitlinks: readonly string[],
): AsyncGenerator<Uint8Array> {
  const who = signature(identity, atMs);
  const text = Buffer.from(message);
  yield Buffer.from("feature done\n");
  const { ref, forget } = streamRef(store);
  yield Buffer.from(
    `commit ${ref}\nmark :${COMMIT_MARK}\nauthor ${who}\ncommitter ${who}\ndata ${text.length}\n`,
  );
  yield text;
  yield Buffer.from(`\n${manifest.base === null ? "" : `from ${manifest.base}\n`}deleteall\n`);
  if (lowerTree !== null) yield Buffer.from(`M 040000 ${lowerTree} ""\n`);
  let lines = [...gitlinks, ...manifest.gone.map((path) => `D ${quoted(path)}`)];
  // A path that is no longer part of the work leaves the tree, even if something else is at that path now.
  for (const entry of manifest.entries)
    if (!isOfCommit(entry) && entry.kind !== "dir" && entry.role !== "gitdir")
      lines.push(`D ${quoted(entry.path)}`);
  for (const entry of manifest.entries) {
    if (!isOfCommit(entry)) continue;
    const mode = entry.kind === "symlink" ? "120000" : entry.mode & 0o100 ? "100755" : "100644";
    const content = converted.get(entry.path) ?? contents.get(entry.path);
    lines.push(`M ${mode} ${content} ${quoted(entry.path)}`);
    if (lines.length > 1000) {
      yield toBytes(asLines(lines));
      lines = [];
    }
  }
  yield toBytes(`${asLines(lines)}\nls :${COMMIT_MARK} ""\n`);
  yield Buffer.from(`${forget}done\n`);
}

/** Whether a commit of the work holds it. */
export const isOfCommit = ({ role, kind }: SnapshotManifest["entries"][number]) =>
  role === "work" && (kind === "file" || kind === "symlink");

/** The commit that a submodule points to is in no file: the work has the one of its base. */
async function movedGitlinks(repo: Repo, lower: string | null, base: string | null): Promise<string[]> {
  if (lower === base) return [];
  const changes = await rawDiff(userPlace(repo), await treeOf(repo, lower), await treeOf(repo, base));
  return changes.flatMap(({ path, oldMode, mode, id }) => {
    if (mode === GITLINK_MODE) return `M ${GITLINK_MODE} ${id} ${quoted(path)}`;
    return oldMode === GITLINK_MODE && mode === NO_MODE ? `D ${quoted(path)}` : [];
  });
}

/** Whether there is anything that a commit would show: not its own gitdir, and not directories. */
function hasWork({ gone, entries }: SnapshotManifest): boolean {
  const isNoticed = ({ role, kind }: SnapshotManifest["entries"][number]) =>
    role !== "gitdir" && kind !== "dir";
  return gone.some((path) => path !== ".git" && !path.startsWith(".git/")) || entries.some(isNoticed);
}

const asLines = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");

/** Whether there is such a commit, of that tree and with that parent alone. */
export async function isCommitOf(
  repo: Repo,
  store: Store,
  id: string,
  { tree, base }: { readonly tree: string; readonly base: string | null },
): Promise<boolean> {
  const place = withUsersObjects(store, repo);
  const { exitCode, stdout } = await runGit(place, ["cat-file", "commit", id], { accept: [0, 128] });
  const lines = [`tree ${tree}`, ...(base === null ? [] : [`parent ${base}`]), "author "];
  return exitCode === 0 && stdout.toString("latin1").startsWith(lines.join("\n"));
}

/** Writes what `git diff` shows between two trees into a new file. */
export async function writePatch(
  repo: Repo,
  store: Store,
  from: string,
  to: string,
  path: string,
): Promise<void> {
  if (from === to) return writeFile(path, "", { mode: 0o600 });
  const place = withUsersObjects(store, repo);
  await gitToFile(place, [...PATCH, from, to], path);
}

const PATCH = ["diff-tree", "-p", "-r", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "-M"];

/** Fails with `output_too_large` if it is longer. */
export async function readPatch(
  repo: Repo,
  store: Store,
  from: string,
  to: string,
  maxOutputBytes: number,
): Promise<Buffer> {
  if (from === to) return Buffer.alloc(0);
  const place = withUsersObjects(store, repo);
  return git(place, [...PATCH, from, to], { maxOutputBytes });
}

/** The paths that differ between two trees. */
export async function changedPaths(repo: Repo, store: Store, from: string, to: string): Promise<BytePath[]> {
  return (await changesBetween(repo, store, from, to)).map(({ path }) => path);
}

export function changesBetween(repo: Repo, store: Store, from: string, to: string): Promise<RawChange[]> {
  return rawDiff(withUsersObjects(store, repo), from, to);
}

export interface DiffStat {
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
  readonly paths: readonly string[];
}

/** Fails with `output_too_large` if the list of files is longer than `maxOutputBytes`. */
export async function statOf(
  repo: Repo,
  store: Store,
  from: string,
  to: string,
  maxOutputBytes?: number,
): Promise<DiffStat> {
  if (from === to) return { files: 0, insertions: 0, deletions: 0, paths: [] };
  const place = withUsersObjects(store, repo);
  const args = ["diff-tree", "-r", "-z", "--numstat", "--no-ext-diff", "--no-textconv"];
  const out = await git(place, [...args, from, to], maxOutputBytes === undefined ? {} : { maxOutputBytes });
  const rows = out
    .toString("utf8")
    .split("\0")
    .filter(Boolean)
    .map((row) => /^(\S+)\t(\S+)\t([\s\S]*)$/.exec(row)?.slice(1) ?? []);
  const sum = (column: number) => rows.reduce((total, row) => total + (Number(row[column]) || 0), 0);
  return {
    files: rows.length,
    insertions: sum(0),
    deletions: sum(1),
    paths: rows.map((row) => row[2] ?? ""),
  };
}
