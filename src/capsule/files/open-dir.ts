/**
 * Owns access to files below a root that an agent may be changing at this moment.
 *
 * files-1 No symbolic link is ever followed: each directory is opened from its parent's descriptor, and every
 *    name is used from there. So no path is ever too long, and none leads out.
 */
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { HoldfastError } from "../../contract/index.ts";
import { errorCode } from "../../util/index.ts";
import { type BytePath, toBytes } from "./path.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Opens a descriptor that only names a file. Node has no constant for it. */
const O_PATH = 0o10000000;
/** On systems where descriptors have no path, names are joined, after a check that none is a link. */
const hasDescriptorPaths = existsSync("/proc/self/fd");

/**
 * Of directories inside each other, this many are open at a time: a process may have only some thousand
 * descriptors, and an agent can nest directories as deep as it likes.
 */
const MAX_OPEN_LEVELS = 256;

/** How a directory was reached. */
interface Way {
  readonly parent: OpenDir;
  readonly name: BytePath;
}

interface Opened {
  readonly fd: number;
  /** Gives a locked directory its mode back. */
  readonly restore: (() => void) | undefined;
}

export class OpenDir implements Disposable {
  /** Undefined while it rests: it is opened again when it is used. */
  #opened: Opened | undefined;
  readonly #path: string | undefined;
  readonly #way: Way | undefined;

  private constructor(opened: Opened, path: string, way?: Way) {
    this.#opened = opened;
    this.#path = hasDescriptorPaths ? undefined : path;
    this.#way = way;
    if (hasDescriptorPaths) OpenDir.#rest(this.#above(MAX_OPEN_LEVELS));
  }

  /** The root itself may be reached through links: its path is one of ours. */
  static root(path: string): OpenDir {
    const { mode, uid } = statSync(path);
    const isLocked = (mode & 0o500) !== 0o500 && process.getuid?.() === uid;
    if (isLocked) chmodSync(path, 0o700);
    const fd = openSync(path, O_RDONLY | O_DIRECTORY);
    const restore = isLocked ? () => chmodSync(path, mode & 0o7777) : undefined;
    return new OpenDir({ fd, restore }, path);
  }

  get #here(): string {
    return this.#path ?? `/proc/self/fd/${this.#open().fd}`;
  }

  /** A root stays open. */
  static #rest(dir: OpenDir | undefined): void {
    if (dir !== undefined && dir.#way !== undefined) dir[Symbol.dispose]();
  }

  #above(levels: number): OpenDir | undefined {
    let dir: OpenDir | undefined = this;
    for (let left = levels; dir && left > 0; left -= 1) dir = dir.#way?.parent;
    return dir;
  }

  /**
   * Goes down again from the nearest directory above that is open, and leaves the last levels open: the walk
   * comes back to them next.
   */
  #open(): Opened {
    if (this.#opened) return this.#opened;
    const resting: OpenDir[] = [];
    for (let dir: OpenDir | undefined = this; dir && !dir.#opened; dir = dir.#way?.parent) resting.push(dir);
    for (const [left, dir] of [...resting.entries()].reverse()) {
      dir.#openAgain();
      OpenDir.#rest(resting[left + MAX_OPEN_LEVELS]);
    }
    return this.#opened ?? this.#openAgain();
  }

  #openAgain(): Opened {
    if (!this.#way) throw new Error("a root is open until it is disposed of");
    const { parent, name } = this.#way;
    const opened = openBelow(parent, name);
    if (!opened) throw changing(name);
    this.#opened = opened;
    return opened;
  }

  /** A path that names the entry for one call to the file system that follows no links. */
  at(name: BytePath): Buffer {
    // A character that is not a byte would become one, for example a dot or a slash.
    if (name === ".." || /[/\u0100-\uffff]/.test(name)) throw new Error("that is not a valid name of a file");
    return toBytes(`${this.#here}/${name}`);
  }

  /** The directory's path for a program that we start. */
  get pathForOthers(): string {
    return this.#path ?? `/proc/${process.pid}/fd/${this.#open().fd}`;
  }

  /** Undefined if there is no such entry. */
  stat(name: BytePath): Stats | undefined {
    try {
      return lstatSync(this.at(name));
    } catch (error) {
      if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
      throw error;
    }
  }

  names(): BytePath[] {
    return readdirSync(toBytes(this.#here), { encoding: "latin1" }).sort();
  }

  link(name: BytePath): Buffer {
    return readlinkSync(this.at(name), { encoding: "buffer" });
  }

  /** Undefined if the entry is not a directory, or is a link to one. */
  child(name: BytePath): OpenDir | undefined {
    const opened = openBelow(this, name);
    return opened && new OpenDir(opened, this.at(name).toString("latin1"), { parent: this, name });
  }

  /** A plain file, open for reading; what has become something else meanwhile fails. */
  file(name: BytePath): OpenFile {
    const path = this.at(name);
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    try {
      return new OpenFile(openSync(path, flags), name);
    } catch (error) {
      if (errorCode(error) === "ELOOP") throw changing(name);
      const stats = this.stat(name);
      const restore = errorCode(error) === "EACCES" && stats?.isFile() ? unlock(path, 0o600) : undefined;
      if (!restore) throw error;
      try {
        return new OpenFile(openSync(path, flags), name);
      } finally {
        restore();
      }
    }
  }

  [Symbol.dispose](): void {
    if (this.#opened) closeSync(this.#opened.fd);
    this.#opened?.restore?.();
    this.#opened = undefined;
  }
}

/** Undefined if the entry is not a directory, or is a link to one. */
function openBelow(dir: OpenDir, name: BytePath): Opened | undefined {
  const path = dir.at(name);
  const stats = dir.stat(name);
  if (!hasDescriptorPaths && !stats?.isDirectory()) return undefined;
  // The owner of the directory may have locked it. Its mode is restored when we leave.
  const isLocked = stats?.isDirectory() && (stats.mode & 0o500) !== 0o500;
  const restore = isLocked ? unlock(path, 0o700) : undefined;
  try {
    return { fd: openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), restore };
  } catch (error) {
    restore?.();
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/**
 * Opens a directory that belongs to our own user and is locked, and returns how to give its mode back;
 * undefined if it belongs to another user. The directory is held by a descriptor meanwhile, and not named
 * again: by now its name may be a link, and the agent must not choose whose mode is changed.
 */
function unlock(path: Buffer, mode: number): (() => void) | undefined {
  const fd = hasDescriptorPaths ? openOr(path, O_PATH | O_NOFOLLOW) : undefined;
  if (hasDescriptorPaths && fd === undefined) return undefined;
  const held = fd === undefined ? path : `/proc/self/fd/${fd}`;
  const close = () => fd !== undefined && closeSync(fd);
  const stats = fd === undefined ? lstatSync(path) : fstatSync(fd);
  if (stats.isSymbolicLink() || stats.uid !== process.getuid?.()) {
    close();
    return undefined;
  }
  chmodSync(held, mode);
  return () => {
    chmodSync(held, stats.mode & 0o7777);
    close();
  };
}

/** Undefined for an entry that is gone. */
function openOr(path: Buffer, flags: number): number | undefined {
  try {
    return openSync(path, flags);
  } catch {
    return undefined;
  }
}

const CHUNK_BYTES = 1024 * 1024;

export class OpenFile implements Disposable {
  readonly size: number;
  readonly #fd: number;
  readonly #name: BytePath;

  constructor(fd: number, name: BytePath) {
    this.#fd = fd;
    this.#name = name;
    const stats = fstatSync(fd);
    this.size = stats.size;
    if (stats.isFile()) return;
    closeSync(fd);
    throw changing(name);
  }

  /** Exactly as many bytes as the file had when it was opened. */
  *chunks(): Generator<Buffer> {
    for (let position = 0; position < this.size; ) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, this.size - position));
      const length = readSync(this.#fd, chunk, 0, chunk.length, position);
      if (length === 0) throw changing(this.#name);
      position += length;
      yield chunk.subarray(0, length);
    }
  }

  copyTo(fd: number): void {
    for (const chunk of this.chunks()) for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

function changing(name: BytePath): HoldfastError {
  return new HoldfastError(
    "snapshot_raced",
    `the file ${JSON.stringify(name)} was replaced while it was read`,
  );
}
