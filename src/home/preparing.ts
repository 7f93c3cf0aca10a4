/**
 * Owns making a home on its first use, its identity, and the errors for a home that can't be used.
 */
import { existsSync } from "node:fs";
import { mkdir, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { FORMAT_VERSION, type JournalIo } from "../journal/index.ts";
import {
  createFile,
  type Disk,
  errorCode,
  homeManifestPath,
  isDiskFull,
  openSealedJson,
  readIfThere,
  sealJson,
  sessionsDir,
  stagingDir,
  temporaryPath,
  trashDir,
} from "../util/index.ts";
import type { Home } from "./home.ts";
import { assertOwnDir, assertPrivate } from "./private.ts";

export interface PrepareOptions {
  readonly dir: string;
  readonly io: JournalIo;
  readonly newId: Home["newId"];
  /** Whether to make the home if it does not exist. */
  readonly create: boolean;
}

export async function prepareHome({ dir, io, newId, create }: PrepareOptions): Promise<Home> {
  if (dir === "") throw new HoldfastError("usage", "the path of the home is empty");
  let absolute = resolve(dir);
  if (!create && !existsSync(absolute)) {
    throw new HoldfastError("home_not_found", `there is no home at ${absolute}`, { path: absolute });
  }
  try {
    await makeDirs(io.disk, absolute);
    await assertPrivate(absolute);
    for (const part of [sessionsDir, stagingDir, trashDir]) {
      await makeDirs(io.disk, part(absolute));
      await assertOwnDir(part(absolute));
    }
    // The real path: paths below it are looked up in other mount namespaces too.
    absolute = await realpath(absolute);
    const id = (await readHomeId(absolute)) ?? (await createHomeId(absolute, io, newId));
    return { dir: absolute, id, io, newId };
  } catch (error) {
    throw asFailure(error, absolute);
  }
}

/** Turns an error of the file system or of SQLite about an unusable home into one with a way out. */
export function asFailure(error: unknown, path: string): unknown {
  if (error instanceof HoldfastError) return error;
  if (isDiskFull(error))
    return new HoldfastError("disk_full", `the disk of ${path} is full`, {}, { cause: error });
  const code = errorCode(error);
  if (code === undefined || !UNUSABLE.has(code)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new HoldfastError(
    "home_unreadable",
    `the home ${path} can't be used: ${reason}`,
    { path },
    { cause: error },
  );
}

const UNUSABLE = new Set([
  "EACCES",
  "EPERM",
  "EROFS",
  "ENOENT",
  "ENOTDIR",
  "EEXIST",
  "ELOOP",
  "ENAMETOOLONG",
  "EMFILE",
  "EIO",
  "ERR_SQLITE_ERROR",
]);

/** Does not use `mkdir` with `recursive`, which never returns for a path below /proc. */
async function makeDirs(disk: Disk, path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    await disk.syncDir(dirname(path));
  } catch (error) {
    if (errorCode(error) === "EEXIST" && (await stat(path)).isDirectory()) return;
    if (errorCode(error) !== "ENOENT" || existsSync(dirname(path))) throw error;
    await makeDirs(disk, dirname(path));
    await makeDirs(disk, path);
  }
}

async function readHomeId(dir: string): Promise<string | undefined> {
  const bytes = await readIfThere(homeManifestPath(dir));
  if (!bytes) return undefined;
  const value = openSealedJson(bytes);
  if (typeof value?.["holdfast"] === "number" && value["holdfast"] > FORMAT_VERSION) {
    throw new HoldfastError(
      "newer_format",
      `the home was written in format ${value["holdfast"]}; this program reads formats up to ${FORMAT_VERSION}`,
    );
  }
  if (typeof value?.["home"] !== "string")
    throw new HoldfastError("home_unreadable", `${homeManifestPath(dir)} was changed: it has no home id`);
  return value["home"];
}

async function createHomeId(dir: string, io: JournalIo, newId: Home["newId"]): Promise<string> {
  const home = newId("home");
  const createdAt = new Date(io.clock.nowMs()).toISOString();
  const { disk } = io;
  const path = homeManifestPath(dir);
  const temporary = temporaryPath(path);
  await createFile(disk, temporary, sealJson({ holdfast: FORMAT_VERSION, home, createdAt }));
  // When two processes use the home first at the same time, the first link wins, and both read that one.
  await disk.link(temporary, path).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
  });
  await disk.unlink(temporary);
  await disk.syncDir(dir);
  return (await readHomeId(dir)) ?? home;
}
