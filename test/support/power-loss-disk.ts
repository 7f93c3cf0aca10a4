/**
 * A disk that really writes, remembers what was not synced, and can lose power: names and bytes that no sync
 * covered are then lost, in part or wholly, also out of order inside a batch.
 *
 * Names of one directory are lost from the end, as a journalling file system does; bytes are lost by pages.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { type Disk, type DiskFile, realDisk } from "../../src/util/index.ts";

const PAGE = 4096;

export class PowerLoss extends Error {
  override readonly name = "PowerLoss";
}

interface NameChange {
  readonly directories: readonly string[];
  /** The path that it made, if it made one. */
  readonly made?: string;
  /** Takes the change back. `now` gives the name that a path has by then. */
  undo(now: (path: string) => string): void;
  readonly moved?: { readonly from: string; readonly to: string };
}

interface Unsynced {
  path: string;
  ranges: { start: number; end: number }[];
}

/** Says, for each thing that could be lost, whether it is. */
export type Lose = () => boolean;

export class PowerLossDisk implements Disk {
  /** Operations so far: a test that wants a crash between any two steps counts them. */
  steps = 0;
  readonly #attic: string;
  readonly #dieAt: number;
  #isDead = false;
  #names: NameChange[] = [];
  #moves: { readonly from: string; readonly to: string }[] = [];
  #files: Unsynced[] = [];
  #open: DiskFile[] = [];
  #kept = 0;

  /** `attic` is a directory for what a power loss may bring back; `dieAt` the step at which power is lost. */
  constructor(attic: string, dieAt = Number.POSITIVE_INFINITY) {
    this.#attic = attic;
    this.#dieAt = dieAt;
    mkdirSync(attic, { recursive: true });
  }

  async create(path: string): Promise<DiskFile> {
    this.#step();
    const file = await realDisk.create(path);
    this.#open.push(file);
    this.#names.push(making(path));
    const unsynced: Unsynced = { path, ranges: [] };
    this.#files.push(unsynced);
    return {
      write: async (bytes, position) => {
        this.#step();
        const written = await file.write(bytes, position);
        unsynced.ranges.push({ start: position, end: position + written });
        return written;
      },
      datasync: async () => {
        this.#step();
        await file.datasync();
        unsynced.ranges = [];
      },
      truncate: async (length) => {
        this.#step();
        await file.truncate(length);
        unsynced.ranges = unsynced.ranges.filter(({ start }) => start < length);
      },
      close: () => file.close(),
    };
  }

  async mkdir(path: string): Promise<void> {
    this.#step();
    await realDisk.mkdir(path);
    this.#names.push(making(path));
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step();
    const replaced = this.#keep(to);
    await realDisk.rename(from, to);
    for (const file of this.#files) file.path = moved(file.path, from, to);
    this.#names.push({
      directories: [dirname(from), dirname(to)],
      moved: { from, to },
      undo: (now) => {
        renameSync(now(to), now(from));
        if (replaced) renameSync(replaced, now(to));
      },
    });
  }

  async link(existing: string, path: string): Promise<void> {
    this.#step();
    await realDisk.link(existing, path);
    this.#names.push(making(path));
  }

  async unlink(path: string): Promise<void> {
    this.#step();
    const copy = this.#keep(path);
    await realDisk.unlink(path);
    this.#names.push({ directories: [dirname(path)], undo: (now) => copy && renameSync(copy, now(path)) });
  }

  async syncDir(path: string): Promise<void> {
    this.#step();
    await realDisk.syncDir(path);
    const isSynced = ({ directories }: NameChange) => directories.includes(path);
    const moves = this.#names.filter(isSynced).flatMap((change) => change.moved ?? []);
    // A file whose new name is synced was itself made for good. What was not synced in it is lost under that
    // name.
    const isMoved = ({ made }: NameChange) => moves.some(({ from }) => from === made);
    this.#names = this.#names.filter((change) => !isSynced(change) && !isMoved(change));
    this.#moves.push(...moves);
  }

  async makeRoom(): Promise<boolean> {
    return false;
  }

  async removeTree(path: string): Promise<void> {
    this.#step();
    await realDisk.removeTree(path);
  }

  /** Loses what was not synced, as far as `lose` says so. The disk can't be used afterwards. */
  losePower(lose: Lose): void {
    this.#isDead = true;
    for (const file of this.#open) void file.close().catch(() => {});
    for (const file of this.#files) if (file.ranges.length > 0) loseBytes(file, lose);
    const keptMoves: { from: string; to: string }[] = [];
    const isKept = this.#surviving(lose);
    for (const [index, change] of [...this.#names.entries()].reverse()) {
      if (isKept[index]) {
        if (change.moved) keptMoves.unshift(change.moved);
        continue;
      }
      change.undo((path) =>
        [...this.#moves, ...keptMoves].reduce((name, { from, to }) => moved(name, from, to), path),
      );
    }
  }

  /** In each directory, changes survive up to some point. */
  #surviving(lose: Lose): boolean[] {
    const isCut = new Set<string>();
    return this.#names.map(({ directories }) => {
      const isLost = directories.some((directory) => isCut.has(directory)) || lose();
      if (isLost) for (const directory of directories) isCut.add(directory);
      return !isLost;
    });
  }

  #step(): void {
    this.steps += 1;
    if (this.steps >= this.#dieAt) this.#isDead = true;
    if (this.#isDead) throw new PowerLoss(`power went at step ${this.steps}`);
  }

  /** A second name for a file, so that it can come back under its first. */
  #keep(path: string): string | undefined {
    this.#kept += 1;
    const copy = join(this.#attic, String(this.#kept));
    try {
      linkSync(path, copy);
      return copy;
    } catch {
      return undefined;
    }
  }
}

function making(path: string): NameChange {
  const undo = (now: (path: string) => string) => rmSync(now(path), { recursive: true, force: true });
  return { directories: [dirname(path)], made: path, undo };
}

function moved(path: string, from: string, to: string): string {
  return path === from || path.startsWith(from + sep) ? to + path.slice(from.length) : path;
}

/** Pages that were written and not synced read as zeros, and the file may end before them. */
function loseBytes({ path, ranges }: Unsynced, lose: Lose): void {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch {
    return;
  }
  for (const { start, end: written } of ranges) {
    const end = Math.min(written, content.length);
    for (let page = start; page < end; page = (Math.floor(page / PAGE) + 1) * PAGE) {
      const pageEnd = Math.min(end, (Math.floor(page / PAGE) + 1) * PAGE);
      if (lose()) content.fill(0, page, pageEnd);
    }
  }
  const first = Math.min(...ranges.map(({ start }) => start));
  writeFileSync(path, content);
  if (lose()) {
    let length = content.length;
    while (length > first && content[length - 1] === 0) length -= 1;
    truncateSync(path, length);
  }
}
