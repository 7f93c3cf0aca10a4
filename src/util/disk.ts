/**
 * Owns every operation whose order on the disk matters: create, write, sync, rename, link, unlink. Reading
 * needs no port. Tests pass a disk that loses power, fills up or fails.
 *
 * disk-1 After any crash, a file that `replaceFile` wrote is either the old one or the new one, whole.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fsync, openSync } from "node:fs";
import { link, mkdir, open, readFile, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** A file that is written. */
export interface DiskFile {
  /** Writes some of the bytes at the position and returns how many. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** The disk, as it is injected. */
export interface Disk {
  /** Fails with EEXIST when the name is taken. Mode 0600. */
  create(path: string): Promise<DiskFile>;
  mkdir(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  link(existing: string, path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Makes names that were created, changed or removed in this directory durable. */
  syncDir(path: string): Promise<void>;
  removeTree(path: string): Promise<void>;
  /** Makes some room on a full disk. Returns false when it can't make any. */
  makeRoom(): Promise<boolean>;
}

const O_CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
const O_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

const syncAsync = promisify(fsync);

export const realDisk: Disk = {
  async create(path) {
    const handle = await open(path, O_CREATE_NEW, 0o600);
    return {
      write: async (bytes, position) =>
        (await handle.write(bytes, 0, bytes.byteLength, position)).bytesWritten,
      datasync: () => handle.datasync(),
      truncate: (length) => handle.truncate(length),
      close: () => handle.close(),
    };
  },
  mkdir: async (path) => {
    await mkdir(path, { mode: 0o700 });
  },
  rename,
  link,
  unlink,
  async syncDir(path) {
    // Opening and closing a directory never waits for the disk, and going through the threads of Node costs
    // more.
    const fd = openSync(path, O_DIRECTORY);
    try {
      await syncAsync(fd);
    } finally {
      closeSync(fd);
    }
  },
  removeTree: (path) => rm(path, { recursive: true, force: true }),
  makeRoom: async () => false,
};

/** The content of a file, or undefined when there is none. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

export async function writeAll(file: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.byteLength) done += await file.write(bytes.subarray(done), position + done);
}

/** Creates a file that must not exist, with its content synced. The directory is left to the caller. */
export async function createFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.create(path);
  try {
    await writeAll(file, bytes, 0);
    await file.datasync();
  } catch (error) {
    await disk.unlink(path).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}

/** disk-1: writes a temporary file, syncs it, renames it over the old one, and syncs the directory. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const temporary = temporaryPath(path);
  await createFile(disk, temporary, bytes);
  try {
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.unlink(temporary).catch(() => {});
    throw error;
  }
  await disk.syncDir(dirname(path));
}

export const TEMPORARY_PREFIX = ".tmp-";

/** A name beside the path that no reader mistakes for the file itself. */
export function temporaryPath(path: string): string {
  return join(dirname(path), `${TEMPORARY_PREFIX}${randomBytes(6).toString("hex")}`);
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

const SQLITE_FULL = 13;

/** No space, no quota, or a limit on the size of the file. Freeing space helps. */
export function isDiskFull(error: unknown): boolean {
  if (["ENOSPC", "EDQUOT", "EFBIG"].includes(errorCode(error) ?? "")) return true;
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_FULL;
}
