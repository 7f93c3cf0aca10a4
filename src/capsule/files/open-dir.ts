/**
 * Owns the reaching of files below a root that an agent may be changing at this moment.
 *
 * K2 No symbolic link is ever followed: each directory is opened from its parent's descriptor, and every name
 *    is used from there. So no path is ever too long, and none leads out.
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
/** For a descriptor that only holds what it names; Node has no word for it. */
const O_PATH = 0o10000000;
/** Where descriptors have no path of their own, names are joined, and a link is looked for first. */
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

  /** The root itself may be reached through links: its path is ours. */
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
    // A character that is no byte would become one: a dot or a slash, say.
    if (name === ".." || /[/\u0100-\uffff]/.test(name)) throw new Error("that is no name of a file");
    return toBytes(`${this.#path}/${name}`);
  }

  /** The directory's path for a program that we start. */
  get pathForOthers(): string {
    return hasDescriptorPaths ? `/proc/${process.pid}/fd/${this.#fd}` : this.#path;
  }

  /** Undefined when there is no such entry. */
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

  /** Undefined when the entry is no directory, or a link to one. */
  child(name: BytePath): OpenDir | undefined {
    const path = this.at(name);
    if (!hasDescriptorPaths && !this.stat(name)?.isDirectory()) return undefined;
    const stats = this.stat(name);
    // Its owner may have locked himself out; the mode is given back when we leave.
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
 * Lets us into what is our own user's, and says how its mode is given back; undefined where it is not ours. It is held
 * meanwhile, not named again: at its name a link may stand by now, and the mode of what that leads to is not the
 * agent's to choose.
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

/** Undefined for what has gone. */
function openOr(path: Buffer, flags: number): number | undefined {
  try {
    return openSync(path, flags);
  } catch {
    return undefined;
  }
}

/** Goes from path to path below a root and keeps the directories on the way open: paths come in order. */
export class Cursor implements Disposable {
  readonly #top: OpenDir;
  readonly #way: { readonly name: BytePath; readonly dir: OpenDir }[] = [];

  constructor(root: string) {
    this.#top = OpenDir.root(root);
  }

  /**
   * Calls `use` with the open directory that holds the path. Undefined where there is none; with `make`, what is
   * missing is made, and what is no directory makes way for one.
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

/** A directory of this name: what else has it makes way. */
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

  /** Exactly as many bytes as it had when it was opened. */
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
  return new HoldfastError("snapshot_raced", `${JSON.stringify(name)} was replaced while it was read`);
}
