/**
 * Owns `checked.json`: a list of the journal's files that were read completely and found good, with what the
 * file system reported about each at that time. It saves a fork from reading all of a long history again.
 *
 * checked-1 The list is a cache: if it is deleted, spoiled or out of date, the next reader only takes longer.
 *    A file counts as checked while its inode, its length and its times are the same, so a file that a
 *    program changed, cut, replaced or removed is read again. The stamps do not show bytes that a failing
 *    disk changed, or a change by a person who also set the times back. To find those, audit and doctor read
 *    every byte.
 */
import { lstatSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BlobReference } from "../contract/index.ts";
import {
  blobsDir,
  checkedPath,
  IN_SESSION,
  isPlainObject,
  journalDir,
  openSealedJson,
  readIfThere,
  sealJson,
  systemClock,
  temporaryPath,
} from "../util/index.ts";
import { blobReferences, readBlob } from "./blobs.ts";
import { isPosition, type Position } from "./line.ts";
import { JOURNAL_START, type ScannedRecord } from "./scan.ts";
import { COMPRESSED } from "./segments.ts";

const CHECKED_NAME = /^(\d{6,8}\.jsonl|[0-9a-f]{64})(\.zst)?$/;
const SEGMENT_FILE = new RegExp(`^${journalDir(IN_SESSION)}/(\\d+)`);
/** Reading less than this takes no time, so it is read whatever the stamps are. */
const SMALL_BYTES = 4 * 1024 * 1024;
/**
 * A file that was written a moment ago could be written again with the same time. Some file systems count in
 * steps of two seconds.
 */
const RACY_MS = 50;
const COARSE_RACY_MS = 2000;

/** Device, inode, length, mtime, ctime, number of links. */
type Stamp = readonly [
  dev: number,
  ino: number,
  size: number,
  mtimeMs: number,
  ctimeMs: number,
  nlink: number,
];

interface NamedBlob {
  readonly reference: BlobReference;
  /** The seq of the first record that names the blob. */
  readonly seq: number;
}

export class CheckedFiles {
  readonly #sessionDir: string;
  readonly #stamps: Map<string, Stamp>;
  /** The end of the last record in each segment. */
  readonly #ends: Position[];
  readonly #blobs: Map<string, NamedBlob>;
  /** Taken before anything is read: a file that is written meanwhile is read again the next time. */
  readonly #now: ReadonlyMap<string, Stamp>;
  readonly #from: Position;

  private constructor(sessionDir: string, known: Known) {
    this.#sessionDir = sessionDir;
    this.#stamps = new Map(Object.entries(known.stamps));
    this.#now = stampsIn(sessionDir);
    const bytes = [...this.#now.values()].reduce((sum, [, , size]) => sum + size, 0);
    if (bytes <= SMALL_BYTES) this.#stamps.clear();
    const last = this.#lastUnchanged();
    this.#from = known.ends.findLast((end) => end.segment <= last) ?? JOURNAL_START;
    const { seq } = this.#from;
    this.#ends = known.ends.filter((end) => end.seq <= seq);
    this.#blobs = new Map(Object.entries(known.blobs).filter(([, blob]) => blob.seq <= seq));
  }

  static async read(sessionDir: string): Promise<CheckedFiles> {
    const bytes = await readIfThere(checkedPath(sessionDir)).catch(() => undefined);
    const value = bytes && openSealedJson(bytes);
    return new CheckedFiles(sessionDir, isKnown(value) ? value : { stamps: {}, ends: [], blobs: {} });
  }

  /** The position at which reading must begin. */
  get from(): Position {
    return this.#from;
  }

  /** A later record was found good. */
  note({ record, end }: ScannedRecord): void {
    if (this.#ends.at(-1)?.segment === end.segment) this.#ends.pop();
    this.#ends.push(end);
    for (const reference of blobReferences(record.data)) {
      const { sha256 } = reference.$blob;
      if (!this.#blobs.has(sha256)) this.#blobs.set(sha256, { reference, seq: record.seq });
    }
  }

  /**
   * Checks that every blob that a record names exists and is good. Blobs whose stamps are unchanged are not
   * read again.
   */
  async assertBlobs(): Promise<void> {
    for (const [sha256, { reference, seq }] of this.#blobs)
      if (!this.#isUnchanged(join(blobsDir(IN_SESSION), sha256)))
        await readBlob(this.#sessionDir, reference, seq);
  }

  /**
   * Saves the list for the next reader, once all of it was found good. Others may have linked the files since
   * then.
   */
  save(): void {
    const nowMs = systemClock.nowMs();
    const kept = [...stampsIn(this.#sessionDir)].filter(([file, stamp]) => {
      const old = this.#now.get(file);
      return old && isSameContent(old, stamp) && stamp[3] < nowMs - racyMs(stamp);
    });
    const known: Known = {
      stamps: Object.fromEntries(kept),
      ends: this.#ends,
      blobs: Object.fromEntries(this.#blobs),
    };
    const path = checkedPath(this.#sessionDir);
    const temporary = temporaryPath(path);
    try {
      // Not synced: if it is lost, the next reader only reads more.
      writeFileSync(temporary, sealJson(known), { mode: 0o600 });
      renameSync(temporary, path);
    } catch {
      rmSync(temporary, { force: true });
    }
  }

  /** The last segment up to which nothing was changed, removed or added. */
  #lastUnchanged(): number {
    const numbers = [...this.#now.keys(), ...this.#stamps.keys()].flatMap(
      (file) => SEGMENT_FILE.exec(file)?.[1] ?? [],
    );
    const changed = numbers.filter(
      (number) => !this.#isUnchanged(join(journalDir(IN_SESSION), `${number}.jsonl`)),
    );
    return changed.length > 0 ? Math.min(...changed.map(Number)) - 1 : Number.POSITIVE_INFINITY;
  }

  #isUnchanged(file: string): boolean {
    return this.#isSame(file) || this.#isSame(file + COMPRESSED);
  }

  #isSame(file: string): boolean {
    const [before, now] = [this.#stamps.get(file), this.#now.get(file)];
    if (!before || !now || !isSameContent(before, now)) return false;
    // A new link to a file, which a fork makes, changes its ctime too.
    return before[4] === now[4] || before[5] !== now[5];
  }
}

/** A time without a fraction of a second almost always comes from a file system that counts in seconds. */
function racyMs([, , , mtimeMs, ctimeMs]: Stamp): number {
  return mtimeMs % 1000 === 0 && ctimeMs % 1000 === 0 ? COARSE_RACY_MS : RACY_MS;
}

/** The same file, of the same length, written at the same time. */
function isSameContent(one: Stamp, other: Stamp): boolean {
  return [0, 1, 2, 3].every((field) => one[field] === other[field]);
}

function stampsIn(sessionDir: string): Map<string, Stamp> {
  const stamps = new Map<string, Stamp>();
  for (const folder of [journalDir(IN_SESSION), blobsDir(IN_SESSION)])
    for (const name of readdirSync(join(sessionDir, folder))) {
      if (!CHECKED_NAME.test(name)) continue;
      const stats = lstatSync(`${sessionDir}/${folder}/${name}`, { throwIfNoEntry: false });
      if (!stats) continue;
      const { dev, ino, size, mtimeMs, ctimeMs, nlink } = stats;
      stamps.set(`${folder}/${name}`, [dev, ino, size, mtimeMs, ctimeMs, nlink]);
    }
  return stamps;
}

interface Known {
  readonly stamps: Readonly<Record<string, Stamp>>;
  readonly ends: readonly Position[];
  readonly blobs: Readonly<Record<string, NamedBlob>>;
}

/** The file is sealed, so its parts need no checks of their own. */
function isKnown(value: Record<string, unknown> | undefined): value is Record<string, unknown> & Known {
  if (!value) return false;
  const { stamps, ends, blobs } = value;
  return isPlainObject(stamps) && Array.isArray(ends) && ends.every(isPosition) && isPlainObject(blobs);
}
