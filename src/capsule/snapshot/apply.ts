/**
 * Owns putting a snapshot's files into a directory that holds its base.
 *
 * snapshot-2 It writes below the root only, whatever the manifest says and whatever links the base has: it
 *    follows no link, and sets no set-user-id or set-group-id and creates no device.
 */
import {
  chmodSync,
  closeSync,
  constants,
  lutimesSync,
  openSync,
  renameSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { HoldfastError } from "../../contract/index.ts";
import { runMkfifo } from "../../process/index.ts";
import { Meter, type OnProgress, temporaryPath } from "../../util/index.ts";
import type { Entry } from "../files/changes.ts";
import { Cursor, ensureDir } from "../files/cursor.ts";
import type { OpenDir } from "../files/open-dir.ts";
import { type BytePath, toText } from "../files/path.ts";
import { removeEntry } from "../files/removal.ts";
import { BatchReader } from "../git/batch-reader.ts";
import { git } from "../git/git.ts";
import type { ManifestEntry, SnapshotManifest } from "../store/manifest.ts";
import type { Store } from "../store/store.ts";

/** What could not be restored: sockets and devices have no content. */
export interface Applied {
  readonly left: readonly string[];
}

export async function applySnapshot(
  root: string,
  store: Store,
  manifest: SnapshotManifest,
  contents: ReadonlyMap<BytePath, string>,
  { onProgress }: { readonly onProgress?: OnProgress | undefined } = {},
): Promise<Applied> {
  const { entries } = manifest;
  using cursor = new Cursor(root);
  for (const path of manifest.gone) cursor.inParent(path, removeEntry);
  for (const { path, kind } of entries) if (kind === "dir") cursor.inParent(path, ensureDir, { make: true });
  await writeContents(cursor, store, entries, contents, onProgress);
  for (const { path, kind } of entries) if (kind === "fifo") makeFifo(cursor, path);
  // Last, and the deepest first: a directory may be locked, and its time changes when an entry is added to
  // it.
  for (const entry of [...entries].reverse()) settle(cursor, entry);
  const left = entries
    .filter(({ kind }) => kind === "socket" || kind === "device")
    .map(({ path }) => toText(path));
  return { left };
}

async function writeContents(
  cursor: Cursor,
  store: Store,
  entries: readonly ManifestEntry[],
  contents: ReadonlyMap<BytePath, string>,
  onProgress: OnProgress | undefined,
): Promise<void> {
  const wanted = entries.filter(({ kind }) => kind === "file" || kind === "symlink");
  if (wanted.length === 0) return;
  const ids = wanted.map(({ path }) => contents.get(path) || missing(path));
  const meter = new Meter(onProgress, "bringing files back", {
    ofFiles: wanted.length,
    ofBytes: wanted.reduce((sum, { size }) => sum + size, 0),
  });
  const reader = new BatchReader((index, bytes, isLast) => {
    const entry = wanted[index];
    if (entry) writer.take(entry, bytes, isLast);
    meter.add({ files: isLast ? 1 : 0, bytes: bytes.length });
  });
  const writer = new ContentWriter(cursor);
  try {
    const input = [Buffer.from(`${ids.join("\n")}\n`)];
    await git(store, ["cat-file", "--batch", "--buffer"], { input, onOutput: (chunk) => reader.push(chunk) });
  } finally {
    writer.close();
  }
  if (reader.done !== wanted.length)
    throw new HoldfastError("snapshot_invalid", "contents of the snapshot are missing from the store");
}

function missing(path: BytePath): never {
  throw new HoldfastError(
    "snapshot_invalid",
    `the snapshot has no content for ${JSON.stringify(toText(path))}`,
  );
}

/** Writes one file after the other, as their bytes come. */
class ContentWriter {
  readonly #cursor: Cursor;
  #fd: number | undefined;
  #target: Buffer[] = [];

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  take(entry: ManifestEntry, bytes: Buffer, isLast: boolean): void {
    if (entry.kind === "symlink") {
      this.#target.push(bytes);
      if (!isLast) return;
      const target = Buffer.concat(this.#target.splice(0));
      this.#place(entry, (path) => symlinkSync(target, path));
      return;
    }
    if (this.#fd === undefined) {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      this.#place(entry, (path) => {
        this.#fd = openSync(path, flags, 0o600);
      });
    }
    if (this.#fd === undefined)
      throw new HoldfastError(
        "snapshot_invalid",
        `${JSON.stringify(toText(entry.path))} could not be created: its directory is missing`,
      );
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    if (isLast) this.close();
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #place({ path }: ManifestEntry, use: (at: Buffer) => void): void {
    const place = (dir: OpenDir, name: BytePath) => {
      removeEntry(dir, name);
      use(dir.at(name));
    };
    this.#cursor.inParent(path, place, { make: true });
  }
}

export function makeFifo(cursor: Cursor, path: BytePath): void {
  const place = (dir: OpenDir, name: BytePath) => {
    // Its own name may be bytes that no argument of a program can hold.
    const temporary = temporaryPath("fifo");
    runMkfifo(dir.pathForOthers, temporary);
    removeEntry(dir, name);
    renameSync(dir.at(temporary), dir.at(name));
  };
  cursor.inParent(path, place, { make: true });
}

/** Sets the mode and the time that it had. */
export function settle(cursor: Cursor, { path, kind, mode, mtimeMs }: Entry): void {
  if (kind === "socket" || kind === "device") return;
  cursor.inParent(path, (dir, name) => {
    const stats = dir.stat(name);
    if (!stats) return;
    lutimesSync(dir.at(name), new Date(mtimeMs), new Date(mtimeMs));
    // chmod follows links, so only an entry that is not a link gets a mode.
    if (!stats.isSymbolicLink()) chmodSync(dir.at(name), mode & 0o1777);
  });
}
