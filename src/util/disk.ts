/**
 * Owns every operation whose order on the disk matters: create, write, sync, rename, link, unlink.
 * Reading needs no port. Tests hand in a disk that loses power, fills up or fails.
 *
 * D1 A file that `replaceFile` wrote is, after any crash, either the old one or the new one, whole.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, readFile, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface DiskFile {
  /** Writes some of the bytes at the position and says how many. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

export interface Disk {
  /** Fails with EEXIST when the name is taken. Mode 0600. */
  create(path: string): Promise<DiskFile>;
  mkdir(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  link(existing: string, path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Makes names that were made, changed or removed in this directory durable. */
  syncDir(path: string): Promise<void>;
  removeTree(path: string): Promise<void>;
  /** Makes some room on a disk that is full. False when there is none to be made. */
  makeRoom(): Promise<boolean>;
}

const O_CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

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
    const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
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

/** D1: a temporary file, synced, renamed over the old one, and the directory synced. */
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

/** No space, no quota, or a limit on the file's size: freeing some mends it. */
export function isDiskFull(error: unknown): boolean {
  if (["ENOSPC", "EDQUOT", "EFBIG"].includes(errorCode(error) ?? "")) return true;
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_FULL;
}
