/**
 * Owns the check of a store's contents: the manifests of snapshots, and every object of them by its id. It
 * writes nothing, continues after damage, and never fails because of it.
 */
import { isHoldfastError } from "../../contract/index.ts";
import { Meter, type OnProgress, sha256Hex } from "../../util/index.ts";
import { BatchReader } from "../git/batch-reader.ts";
import { type GitPlace, git, runGit } from "../git/git.ts";
import { locateObjects } from "../git/packs.ts";
import type { NamedSnapshot } from "./named.ts";

type Place = Pick<GitPlace, "gitDir">;

/** Why git can't use a store at all; undefined if it can. */
export async function whyUnusable(place: Place): Promise<string | undefined> {
  const { exitCode, stderr } = await runGit(place, ["rev-parse", "--git-dir"], { accept: [0, 1, 128] });
  return exitCode === 0 ? undefined : `git can't open the store: ${stderr.trim().split("\n").at(-1)}`;
}

/** Those snapshots that a journal names and that are missing, or are not the ones that the journal means. */
export async function findBadManifests(
  place: Place,
  named: readonly NamedSnapshot[],
): Promise<Map<string, string>> {
  const manifests = await readObjects(
    place,
    named.map(({ commit }) => `${commit}:manifest.json`),
    () => true,
  );
  const bad = new Map<string, string>();
  for (const [index, { commit, manifest }] of named.entries()) {
    const found = manifests[index];
    if (found?.reason !== undefined) bad.set(commit, `its manifest: ${found.reason}`);
    // If only the commit is on record, its id is all there is to compare.
    else if (manifest !== "" && (!found?.content || sha256Hex(found.content) !== manifest))
      bad.set(commit, "it is not the one that the journal names");
  }
  return bad;
}

export interface BadObject {
  readonly id: string;
  /** Its path in the snapshot; empty for the commit itself. */
  readonly path: string;
  readonly reason: string;
}

export interface CheckedObjects {
  /** Snapshots that need a damaged object, with the first such object. */
  readonly bad: ReadonlyMap<string, BadObject>;
  /** All objects of the snapshots. */
  readonly objects: ReadonlySet<string>;
}

/** Reads every byte of these snapshots, each object once. */
export async function findBadObjects(
  place: Place,
  commits: readonly string[],
  onProgress?: OnProgress,
): Promise<CheckedObjects> {
  const meter = new Meter(onProgress, "reading snapshots");
  const children = new Map<string, readonly Child[]>();
  const reasons = new Map<string, string>();
  const seen = new Set<string>(commits);
  let level: Child[] = commits.map((id) => ({ id, name: "", type: "commit" }));
  while (level.length > 0) {
    const isKept = (index: number) => level[index]?.type !== "blob";
    const read = await readObjects(
      place,
      level.map(({ id }) => id),
      isKept,
      meter,
    );
    const next: Child[] = [];
    for (const [index, { id, type }] of level.entries()) {
      const {
        content,
        reason = type !== "blob" && !content ? "it is an object of another type" : undefined,
      } = read[index] ?? {};
      if (reason !== undefined) reasons.set(id, reason);
      if (reason !== undefined || !content) continue;
      const inside = type === "commit" ? treeOfCommit(content) : entriesOfTree(content, id.length / 2);
      children.set(id, inside);
      for (const child of inside) {
        if (!seen.has(child.id)) next.push(child);
        seen.add(child.id);
      }
    }
    level = next;
  }
  const bad = new Map<string, BadObject>();
  const known = new Map<string, BadObject | undefined>();
  for (const commit of reasons.size > 0 ? commits : []) {
    const first = firstBad(commit, "", children, reasons, known);
    if (first) bad.set(commit, first);
  }
  return { bad, objects: seen };
}

interface Child {
  readonly id: string;
  readonly name: string;
  readonly type: "commit" | "tree" | "blob";
}

/** The first damaged one below an object, by its path from there. */
function firstBad(
  id: string,
  path: string,
  children: ReadonlyMap<string, readonly Child[]>,
  reasons: ReadonlyMap<string, string>,
  known: Map<string, BadObject | undefined>,
): BadObject | undefined {
  const reason = reasons.get(id);
  if (reason !== undefined) return { id, path, reason };
  // A tree that many snapshots share is visited once.
  if (known.has(id)) return known.get(id);
  let found: BadObject | undefined;
  for (const { id: child, name } of children.get(id) ?? []) {
    found = firstBad(child, path === "" ? name : `${path}/${name}`, children, reasons, known);
    if (found) break;
  }
  known.set(id, found);
  return found;
}

function treeOfCommit(content: Buffer): Child[] {
  const tree = /^tree ([0-9a-f]{40,64})\n/.exec(content.toString("latin1"))?.[1];
  return tree === undefined ? [] : [{ id: tree, name: "", type: "tree" }];
}

/** Its hash was checked, so it has the form that git writes. */
function entriesOfTree(content: Buffer, idBytes: number): Child[] {
  const entries: Child[] = [];
  for (let at = 0; at < content.length; ) {
    const end = content.indexOf(0, at);
    const [mode = "", ...name] = content.toString("utf8", at, end).split(" ");
    const id = content.toString("hex", end + 1, end + 1 + idBytes);
    entries.push({ id, name: name.join(" "), type: mode === "40000" ? "tree" : "blob" });
    at = end + 1 + idBytes;
  }
  return entries;
}

interface ReadObject {
  /** Only for objects that `isKept` asked for. */
  readonly content?: Buffer;
  /** What is wrong with it. */
  readonly reason?: string;
}

/** If git crashes on one object, the ones after it are still read. */
async function readObjects(
  place: Place,
  names: readonly string[],
  isKept: (index: number) => boolean,
  meter?: Meter,
): Promise<ReadObject[]> {
  const found: ReadObject[] = [];
  while (found.length < names.length) {
    const start = found.length;
    let chunks: Buffer[] = [];
    const reader = new BatchReader(
      (index, bytes, isLast) => {
        meter?.add({ files: isLast ? 1 : 0, bytes: bytes.length });
        if (isKept(start + index)) chunks.push(Buffer.from(bytes));
        if (!isLast) return;
        found[start + index] = isKept(start + index) ? { content: Buffer.concat(chunks) } : {};
        chunks = [];
      },
      (index, reason) => {
        found[start + index] = { reason };
      },
    );
    const input = [Buffer.from(`${names.slice(start).join("\n")}\n`)];
    try {
      await git(place, ["cat-file", "--batch"], { input, onOutput: (chunk) => reader.push(chunk) });
    } catch (error) {
      if (!isHoldfastError(error, "git_failed")) throw error;
      found[start + reader.done] = { reason: "it can't be read from the store" };
    }
    // Git printed fewer answers than it was asked for, and ended without an error.
    if (found.length === start) found.push({ reason: "git gives no answer about it" });
  }
  return found;
}

/** Those that are in no pack, damaged or not. */
export async function findLost(place: Place, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const read = await readObjects(place, ids, () => false);
  const bad = new Set(ids.filter((_, index) => read[index]?.reason !== undefined));
  if (bad.size === 0) return bad;
  const { places } = await locateObjects(place, bad);
  return new Set([...bad].filter((id) => !places.has(id)));
}
