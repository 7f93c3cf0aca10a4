/**
 * Owns snapshots of a directory that stands on nothing, for example a session's HOME. All of it is kept,
 * except paths that are left in place. These snapshots are commits of the store like a capsule's, and are
 * restored like one.
 *
 * snapshot-3 A path that is left in place is in no snapshot, and no restore touches it.
 */
import { mkdirSync } from "node:fs";
import { Meter, type OnProgress, sha256Hex } from "../../util/index.ts";
import { contentId, entryOf } from "../files/changes.ts";
import { Cursor } from "../files/cursor.ts";
import { OpenDir } from "../files/open-dir.ts";
import { type BytePath, joined } from "../files/path.ts";
import { removeOthers } from "../files/removal.ts";
import { contentsOf } from "../store/contents.ts";
import { encodeManifest, type ManifestEntry, type SnapshotManifest } from "../store/manifest.ts";
import { type NamedSnapshot, nameSnapshot, readNamedManifest } from "../store/named.ts";
import { importObjects } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { applySnapshot } from "./apply.ts";
import type { Kept } from "./choose.ts";
import { blob, commit } from "./snapshot.ts";

export interface RootRequest {
  readonly store: Store;
  readonly dir: string;
  readonly session: string;
  readonly name: string;
  readonly atMs: number;
  readonly maxBytes: number;
  readonly maxEntries: number;
  isLeft(path: BytePath): boolean;
  /** The last snapshot that was taken. While nothing changes, no new one is made. */
  readonly before: NamedSnapshot | undefined;
  readonly onProgress?: OnProgress | undefined;
}

export interface RootSnapshot {
  /** Undefined: the directory is empty. */
  readonly named: NamedSnapshot | undefined;
  /** How many entries are beyond a limit and not in the snapshot. */
  readonly omitted: number;
}

const FACTS = { base: null, lower: null, setupKey: "none", branch: "none" } as const;
/** Nothing useful is deeper than this, and each level is held open. */
const MAX_DEPTH = 200;

export async function takeRootSnapshot(request: RootRequest): Promise<RootSnapshot> {
  const { store, dir, session, name, atMs, before } = request;
  const { kept, omitted, uncounted } = choose(request);
  const said = omitted.length + uncounted;
  if (kept.length === 0 && said === 0) return { named: undefined, omitted: said };
  const entries = kept.map(({ mark: _, ...entry }) => entry);
  const manifest: SnapshotManifest = {
    ...FACTS,
    entries,
    gone: [],
    converted: [],
    omitted: omitted.map(({ path, size }) => ({ path, size })),
  };
  const encoded = encodeManifest(manifest);
  const manifestSha256 = sha256Hex(encoded);
  if (before?.manifest === manifestSha256 && (await isUnchanged(request, before, manifest)))
    return { named: before, omitted: said };
  const marks = kept.filter(({ mark }) => mark !== undefined).length;

  async function* stream(): AsyncGenerator<Uint8Array> {
    using cursor = new Cursor(dir);
    yield Buffer.from("feature done\n");
    const meter = new Meter(request.onProgress, "taking a snapshot of HOME", { ofFiles: marks });
    for (const entry of kept) {
      if (entry.mark === undefined) continue;
      yield* meter.counting(blob(cursor, entry, entry.mark, new Set<BytePath>()));
      meter.add({ files: 1 });
    }
    yield* commit({ atMs, session, facts: FACTS, store }, encoded, kept, new Map(), marks + 1);
  }

  const { ids } = await importObjects(store, stream());
  const commitId = ids.get(marks + 2);
  if (commitId === undefined) throw new Error("a snapshot ended without its commit");
  await nameSnapshot(store, session, name, commitId);
  return { named: { commit: commitId, manifest: manifestSha256 }, omitted: said };
}

/** The small ones first, so that few are left out. */
function choose({ dir, isLeft, maxBytes, maxEntries }: RootRequest) {
  using root = OpenDir.root(dir);
  const all: ManifestEntry[] = [];
  const omitted = new Set<ManifestEntry>();
  let uncounted = 0;
  for (const { entry, isTooDeep } of walk(root, "", isLeft, 1)) {
    if (all.length >= maxEntries) uncounted += 1;
    else all.push(entry);
    if (isTooDeep) omitted.add(entry);
  }
  const isFile = ({ kind }: ManifestEntry) => kind === "file";
  let bytes = 0;
  for (const entry of all.filter(isFile).sort((a, b) => a.size - b.size)) {
    bytes += entry.size;
    if (bytes > maxBytes) omitted.add(entry);
  }
  let marks = 0;
  const kept: Kept[] = all
    .filter((entry) => !omitted.has(entry))
    .map((entry) => {
      const hasContent = isFile(entry) || entry.kind === "symlink";
      if (hasContent) marks += 1;
      return { ...entry, mark: hasContent ? marks : undefined };
    });
  return { kept, omitted: [...omitted], uncounted };
}

interface Met {
  readonly entry: ManifestEntry;
  /** A directory that is too deep and not empty. */
  readonly isTooDeep: boolean;
}

function* walk(dir: OpenDir, path: BytePath, isLeft: RootRequest["isLeft"], depth: number): Generator<Met> {
  for (const name of dir.names()) {
    const at = joined(path, name);
    const stats = isLeft(at) ? undefined : dir.stat(name);
    if (!stats) continue;
    using inside = stats.isDirectory() ? dir.child(name) : undefined;
    const isTooDeep = inside !== undefined && depth >= MAX_DEPTH && inside.names().length > 0;
    yield { entry: { ...entryOf(at, stats), role: "ignored" }, isTooDeep };
    if (inside && !isTooDeep) yield* walk(inside, at, isLeft, depth + 1);
  }
}

/** By their bytes, because a time stamp proves nothing. */
async function isUnchanged(
  { dir, store }: RootRequest,
  before: NamedSnapshot,
  manifest: SnapshotManifest,
): Promise<boolean> {
  const { contents } = await contentsOf(store, before.commit, manifest).catch(() => ({
    contents: undefined,
  }));
  if (!contents) return false;
  using cursor = new Cursor(dir);
  return manifest.entries.every(({ path, kind }) => {
    if (kind === "symlink") {
      const target = cursor.inParent(path, (parent, name) => parent.link(name));
      return target !== undefined && contentId(store.objectFormat, [target]) === contents.get(path);
    }
    if (kind !== "file") return true;
    using file = cursor.inParent(path, (parent, name) => parent.file(name));
    return file && contentId(store.objectFormat, file.chunks(), file.size) === contents.get(path);
  });
}

/** Makes the directory equal to a snapshot, or empty without one. Paths that are left in place stay. */
export async function restoreRoot(
  store: Store,
  dir: string,
  named: NamedSnapshot | undefined,
  isLeft: RootRequest["isLeft"],
  onProgress?: OnProgress,
): Promise<void> {
  // All of it is read before anything is removed.
  const manifest = named && (await readNamedManifest(store, named));
  const contents = manifest && (await contentsOf(store, named.commit, manifest)).contents;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  {
    using root = OpenDir.root(dir);
    removeOthers(root, isLeft);
  }
  if (!manifest || !contents) return;
  // snapshot-3: even if the snapshot comes from another home, or from a version that left fewer paths in
  // place.
  const entries = manifest.entries.filter(({ path }) => !isLeft(path));
  await applySnapshot(dir, store, { ...manifest, entries }, contents, { onProgress });
}
