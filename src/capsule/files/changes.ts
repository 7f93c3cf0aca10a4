/**
 * Owns the answer to "what differs from the base?", path by path, from the files themselves.
 *
 * files-2 Only the bytes of a file count: no time stamp and no size shows that it is unchanged. In an
 *    overlay, the layers above the base contain only what was written since; elsewhere every byte is hashed.
 * files-3 Every entry that is met is returned, whatever it is. An entry that can't be read is an error.
 */
import { createHash, hash } from "node:crypto";
import type { Stats } from "node:fs";
import { Meter, type OnProgress } from "../../util/index.ts";
import type { OpenDir } from "./open-dir.ts";
import { type BytePath, joined } from "./path.ts";

export type Kind = "file" | "dir" | "symlink" | "fifo" | "socket" | "device";

export interface Entry {
  readonly path: BytePath;
  readonly kind: Kind;
  /** Permissions, including set-user-id and the like. */
  readonly mode: number;
  readonly mtimeMs: number;
  readonly size: number;
}

/** Identifies a file in the layers of an overlay. */
export interface LayerInode {
  /** Its number and the time of its last change. Each layer may have numbers of its own. */
  readonly key: string;
  /** Whether it is in a layer that is never written to. */
  readonly isSealed: boolean;
}

/** An entry that is new or changed, with a way to read its content; or a path of the base that is gone. */
export type Change =
  | {
      readonly entry: Entry;
      readonly dir: OpenDir;
      readonly name: BytePath;
      readonly inode?: LayerInode | undefined;
    }
  | { readonly gone: BytePath };

/** The largest value of a date. */
const MAX_TIME_MS = 8.64e15;

export function entryOf(path: BytePath, stats: Stats): Entry {
  return {
    path,
    kind: kindOf(stats),
    mode: stats.mode & 0o7777,
    mtimeMs: Math.max(-MAX_TIME_MS, Math.min(MAX_TIME_MS, Math.trunc(stats.mtimeMs))),
    size: stats.size,
  };
}

function kindOf(stats: Stats): Kind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "dir";
  if (stats.isSymbolicLink()) return "symlink";
  if (stats.isFIFO()) return "fifo";
  return stats.isSocket() ? "socket" : "device";
}

/**
 * One directory on the way down. The walk uses a stack of these instead of recursion: a tree may be thousands
 * of levels deep.
 */
interface Level {
  readonly path: BytePath;
  readonly names: Iterator<BytePath>;
  readonly dirs: readonly OpenDir[];
}

/** However the walk ends, it closes what is open. */
function* walk(
  first: Level,
  step: (level: Level, name: BytePath) => Generator<Change, Level | undefined>,
): Generator<Change> {
  const levels = [first];
  try {
    for (let level = levels.at(-1); level; level = levels.at(-1)) {
      const { done, value } = level.names.next();
      if (done) {
        levels.pop();
        // The first directories belong to the caller.
        if (levels.length > 0) close(level.dirs);
        continue;
      }
      const below = yield* step(level, value);
      if (below) levels.push(below);
    }
  } finally {
    for (const level of levels.slice(1).reverse()) close(level.dirs);
  }
}

function close(dirs: readonly OpenDir[]): void {
  for (const dir of dirs) dir[Symbol.dispose]();
}

/**
 * The changes of an overlay. `layers` are the directories above the base, the one that is written to first;
 * `merged` is what a task sees. Only directories that are in a layer are entered, so the cost depends on what
 * was touched, and not on the size of the repo.
 */
export function* overlayChanges(
  merged: OpenDir,
  base: OpenDir,
  layers: readonly OpenDir[],
): Generator<Change> {
  const first = enter("", merged, base, layers, layers[0]);
  yield* goneFrom(first);
  yield* walk(first, function* (level, name) {
    const { path, merged: here, base: baseHere, layers: layersHere, upper } = level as OverlayLevel;
    const stats = here.stat(name);
    if (!stats) return undefined;
    const at = joined(path, name);
    if (!stats.isDirectory()) {
      yield { entry: entryOf(at, stats), dir: here, name, inode: inodeOf(stats, upper?.stat(name)) };
      return undefined;
    }
    const baseStats = baseHere?.stat(name);
    const inside = here.child(name);
    if (!inside) return undefined;
    const upperBelow = upper?.child(name);
    const sealedBelow = layersHere.flatMap((layer) => (layer === upper ? [] : (layer.child(name) ?? [])));
    const layersBelow = [...(upperBelow ? [upperBelow] : []), ...sealedBelow];
    const below = enter(at, inside, baseHere?.child(name), layersBelow, upperBelow);
    // Everything that the base has there is gone: something else was put in its place.
    if (below.isForeign || (baseStats && !baseStats.isDirectory())) yield { gone: at };
    const isSameDir = baseStats?.isDirectory() && (baseStats.mode & 0o7777) === (stats.mode & 0o7777);
    if (!isSameDir || below.isForeign) yield { entry: entryOf(at, stats), dir: here, name };
    yield* goneFrom(below);
    return below;
  });
}

interface OverlayLevel extends Level {
  readonly merged: OpenDir;
  /** Undefined if the base does not have this directory, or another one was renamed over it. */
  readonly base: OpenDir | undefined;
  readonly layers: readonly OpenDir[];
  /** The layer that is written to, if it has this directory. It is one of the layers. */
  readonly upper: OpenDir | undefined;
  readonly isForeign: boolean;
  /** Names of the base that do not exist any more. */
  readonly gone: readonly BytePath[];
}

function enter(
  path: BytePath,
  merged: OpenDir,
  base: OpenDir | undefined,
  layers: readonly OpenDir[],
  upper: OpenDir | undefined,
): OverlayLevel {
  const seen = merged.names();
  const present = new Set(seen);
  const touched = new Set(layers.flatMap((layer) => layer.names()));
  // Nothing can be renamed over the top: it is the mount itself.
  const isForeign = path !== "" && hasForeignNames(merged, base, seen, touched);
  const own = isForeign ? undefined : base;
  const gone = (own?.names() ?? []).filter((name) => !present.has(name));
  const names = seen.filter((name) => own === undefined || touched.has(name));
  const dirs = [merged, ...(base ? [base] : []), ...layers];
  return { path, names: names.values(), dirs, merged, base: own, layers, upper, isForeign, gone };
}

/**
 * A file in the layer that is written to has the same name there as in the merged view. Its inode is taken
 * from that layer: in the merged view, a changed file keeps the inode that it had before the change.
 */
function inodeOf(seen: Stats, own: Stats | undefined): LayerInode {
  return { key: inodeKey(own ?? seen), isSealed: own === undefined };
}

export const inodeKey = ({ ino, ctimeMs }: Stats) => `${ino}:${ctimeMs}`;

function* goneFrom({ path, gone }: OverlayLevel): Generator<Change> {
  for (const name of gone) yield { gone: joined(path, name) };
}

/**
 * A directory that was renamed over one of the base shows names that are in no layer, and that are other
 * files.
 */
function hasForeignNames(
  merged: OpenDir,
  base: OpenDir | undefined,
  seen: readonly BytePath[],
  touched: ReadonlySet<BytePath>,
): boolean {
  if (base === undefined) return false;
  // Compare every name: files may be hard links of each other.
  return seen.some((name) => !touched.has(name) && merged.stat(name)?.ino !== base.stat(name)?.ino);
}

/** What a path was when the capsule was made. */
export interface Listed {
  /** The id that git gives the content (for a link, its target). Empty for a directory. */
  readonly id: string;
  readonly kind: "file" | "symlink" | "dir";
  readonly mode: number;
}

export type Listing = ReadonlyMap<BytePath, Listed>;

/** The changes of a plain directory: everything is read and compared with the listing. */
export function* listedChanges(
  root: OpenDir,
  listing: Listing,
  algorithm: "sha1" | "sha256",
  onProgress?: OnProgress,
): Generator<Change> {
  const meter = new Meter(onProgress, "looking for changes");
  const met = new Set<BytePath>();
  const first: Level = { path: "", names: root.names().values(), dirs: [root] };
  yield* walk(first, function* ({ path, dirs: [dir = root] }, name) {
    const stats = dir.stat(name);
    if (!stats) return undefined;
    const entry = entryOf(joined(path, name), stats);
    meter.add(entry.kind === "file" ? { files: 1, bytes: entry.size } : {});
    const listed = listing.get(entry.path);
    if (listed && listed.kind === entry.kind) met.add(entry.path);
    if (!listed || !isSame(dir, name, entry, listed)) yield { entry, dir, name };
    const inside = entry.kind === "dir" ? dir.child(name) : undefined;
    return inside && { path: entry.path, names: inside.names().values(), dirs: [inside] };
  });
  for (const path of listing.keys()) if (!met.has(path)) yield { gone: path };

  function isSame(dir: OpenDir, name: BytePath, entry: Entry, listed: Listed): boolean {
    if (listed.kind !== entry.kind) return false;
    if (entry.kind === "dir") return listed.mode === entry.mode;
    if (entry.kind === "symlink") return contentId(algorithm, [dir.link(name)]) === listed.id;
    if (listed.mode !== entry.mode) return false;
    using file = dir.file(name);
    return contentId(algorithm, file.chunks(), file.size) === listed.id;
  }
}

/** The id that git would give these bytes. */
export function contentId(algorithm: "sha1" | "sha256", chunks: Iterable<Buffer>, size?: number): string {
  if (size === undefined) {
    const bytes = Buffer.concat([...chunks]);
    return hash(algorithm, Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]), "hex");
  }
  const digest = createHash(algorithm).update(`blob ${size}\0`);
  for (const chunk of chunks) digest.update(chunk);
  return digest.digest("hex");
}
