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
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { HoldfastError } from "../../contract/index.ts";
import { errorCode } from "../../util/index.ts";
import { type BytePath, nameOf, parentOf, toBytes } from "./path.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Opens a descriptor that only names a file. Node has no constant for it. */
const O_PATH = 0o10000000;
/** On systems where descriptors have no path, names are joined, after a check that none is a link. */
const hasDescriptorPaths = existsSync("/proc/self/fd");

export class OpenDir implements Disposable {
  readonly #fd: number;
  readonly #path: string;
  readonly #restore: (() => void) | undefined;

  private constructor(fd: number, path: string, restore?: () => void) {
    this.#fd = fd;
    this.#path = path;
    this.#restore = restore;
  }

  /** The root itself may be reached through links: its path is one of ours. */
  static root(path: string): OpenDir {
    const { mode, uid } = statSync(path);
    const isLocked = (mode & 0o500) !== 0o500 && process.getuid?.() === uid;
    if (isLocked) chmodSync(path, 0o700);
    const fd = openSync(path, O_RDONLY | O_DIRECTORY);
    const restore = isLocked ? () => chmodSync(path, mode & 0o7777) : undefined;
    return new OpenDir(fd, hasDescriptorPaths ? `/proc/self/fd/${fd}` : path, restore);
  }

  /** A path that names the entry for one call to the file system that follows no links. */
  at(name: BytePath): Buffer {
    // A character that is not a byte would become one, for example a dot or a slash.
    if (name === ".." || /[/\u0100-\uffff]/.test(name)) throw new Error("that is not a valid name of a file");
    return toBytes(`${this.#path}/${name}`);
  }

  /** The directory's path for a program that we start. */
  get pathForOthers(): string {
    return hasDescriptorPaths ? `/proc/${process.pid}/fd/${this.#fd}` : this.#path;
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
    return readdirSync(toBytes(this.#path), { encoding: "latin1" }).sort();
  }

  link(name: BytePath): Buffer {
    return readlinkSync(this.at(name), { encoding: "buffer" });
  }

  /** Undefined if the entry is not a directory, or is a link to one. */
  child(name: BytePath): OpenDir | undefined {
    const path = this.at(name);
    if (!hasDescriptorPaths && !this.stat(name)?.isDirectory()) return undefined;
    const stats = this.stat(name);
    // The owner of the directory may have locked it. Its mode is restored when we leave.
    const isLocked = stats?.isDirectory() && (stats.mode & 0o500) !== 0o500;
    const restore = isLocked ? unlock(path, 0o700) : undefined;
    try {
      const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      return new OpenDir(fd, hasDescriptorPaths ? `/proc/self/fd/${fd}` : path.toString("latin1"), restore);
    } catch (error) {
      restore?.();
      if (["ENOENT", "ENOTDIR", "ELOOP"].includes(errorCode(error) ?? "")) return undefined;
      throw error;
    }
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
    closeSync(this.#fd);
    this.#restore?.();
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

/**
 * Goes from path to path below a root and keeps the directories on the way open, since paths come in order.
 */
export class Cursor implements Disposable {
  readonly #top: OpenDir;
  readonly #way: { readonly name: BytePath; readonly dir: OpenDir }[] = [];

  constructor(root: string) {
    this.#top = OpenDir.root(root);
  }

  /**
   * Calls `use` with the open directory that holds the path. Returns undefined if there is none. With `make`,
   * missing directories are made, and anything else in their place is removed.
   */
  inParent<T>(
    path: BytePath,
    use: (dir: OpenDir, name: BytePath) => T,
    { make = false } = {},
  ): T | undefined {
    const names = parentOf(path).split("/").filter(Boolean);
    const shared = this.#way.findIndex(({ name }, index) => name !== names[index]);
    this.#backTo(shared < 0 ? Math.min(this.#way.length, names.length) : shared);
    for (const name of names.slice(this.#way.length)) {
      if (make) ensureDir(this.#here, name);
      const dir = this.#here.child(name);
      if (!dir) return undefined;
      this.#way.push({ name, dir });
    }
    return use(this.#here, nameOf(path));
  }

  get #here(): OpenDir {
    return this.#way.at(-1)?.dir ?? this.#top;
  }

  #backTo(length: number): void {
    while (this.#way.length > length) this.#way.pop()?.dir[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#backTo(0);
    this.#top[Symbol.dispose]();
  }
}

/** Makes a directory of this name, and removes anything else that has the name. */
export function ensureDir(dir: OpenDir, name: BytePath): void {
  const stats = dir.stat(name);
  if (stats?.isDirectory()) return;
  if (stats) rmSync(dir.at(name), { force: true });
  mkdirSync(dir.at(name), { mode: 0o755 });
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
