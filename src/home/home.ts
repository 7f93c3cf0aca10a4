/**
 * Owns the directory of all sessions: where things are in it, who may look, and that nobody else can.
 * A home is made on first use. Directories 0700, files 0600; a home that others can enter is refused.
 */
import { existsSync, readdirSync } from "node:fs";
import { lstat, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { HoldfastError, isSessionId, parseSessionId, parseUser, type SessionId } from "../contract/index.ts";
import { FORMAT_VERSION, JOURNAL_START, type JournalIo } from "../journal/index.ts";
import {
  type CachedFold,
  emptyState,
  type Inspected,
  inspectSession,
  readManifest,
} from "../session/index.ts";
import {
  createFile,
  type Disk,
  errorCode,
  homeManifestPath,
  IN_SESSION,
  isDiskFull,
  isOwnUid,
  journalDir,
  type OnProgress,
  openSealedJson,
  readIfThere,
  sealJson,
  sessionsDir,
  stagingDir,
  temporaryPath,
  trashDir,
} from "../util/index.ts";

export interface Home {
  readonly dir: string;
  readonly id: string;
  readonly io: JournalIo;
  /** A new id that sorts by time: `sess_01k…`. */
  readonly newId: (prefix: string) => string;
  /** Hears what long work is at. */
  readonly onProgress?: OnProgress | undefined;
}

export function defaultHomeDir(): string {
  // Set to nothing is not set: an empty path would be the current directory.
  return process.env["HOLDFAST_HOME"] || join(homedir(), ".holdfast");
}

/** The OS user's name, as far as it is one of ours; in a container there may be none for the uid. */
export function defaultUser(): string {
  let name: string;
  try {
    name = userInfo().username;
  } catch {
    name = `uid-${process.getuid?.() ?? 0}`;
  }
  return parseUser(
    name
      .replace(/[^A-Za-z0-9._@-]/g, "_")
      .replace(/^[.@-]/, "_")
      .slice(0, 64),
  );
}

export const sessionDirOf = (home: Pick<Home, "dir">, id: SessionId) => join(sessionsDir(home.dir), id);

export interface PrepareOptions {
  readonly dir: string;
  readonly io: JournalIo;
  readonly newId: Home["newId"];
  /** Whether a home that is not there is made. */
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
    // By its real name: paths in it are looked up in other mount namespaces too.
    absolute = await realpath(absolute);
    const id = (await readHomeId(absolute)) ?? (await createHomeId(absolute, io, newId));
    return { dir: absolute, id, io, newId };
  } catch (error) {
    throw asFailure(error, absolute);
  }
}

/** What the file system or SQLite says of a home that can't be used, as an error with a way out. */
export function asFailure(error: unknown, path: string): unknown {
  if (error instanceof HoldfastError) return error;
  if (isDiskFull(error)) return new HoldfastError("disk_full", "the disk is full", {}, { cause: error });
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

/** Not `mkdir` with `recursive`, which never returns for a path below /proc. */
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
      `the home has format ${value["holdfast"]}, this program knows ${FORMAT_VERSION}`,
    );
  }
  if (typeof value?.["home"] !== "string")
    throw new HoldfastError("home_unreadable", `${homeManifestPath(dir)} was changed`);
  return value["home"];
}

async function createHomeId(dir: string, io: JournalIo, newId: Home["newId"]): Promise<string> {
  const home = newId("home");
  const createdAt = new Date(io.clock.nowMs()).toISOString();
  const { disk } = io;
  const path = homeManifestPath(dir);
  const temporary = temporaryPath(path);
  await createFile(disk, temporary, sealJson({ holdfast: FORMAT_VERSION, home, createdAt }));
  // Two first uses at the same time: the first link wins, and both read that one.
  await disk.link(temporary, path).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
  });
  await disk.unlink(temporary);
  await disk.syncDir(dir);
  return (await readHomeId(dir)) ?? home;
}

/** What others could read or change is not a room of one's own. */
export async function assertPrivate(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if (!isOwnUid(uid)) throw notOwn(path, `belongs to another user (uid ${uid})`);
  if ((mode & 0o077) === 0) return;
  const bits = (mode & 0o777).toString(8).padStart(3, "0");
  throw new HoldfastError("unsafe_permissions", `${path} has mode ${bits}: others can reach it`, { path });
}

/** A link in its place would have us work, and delete, somewhere else. */
async function assertOwnDir(path: string): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) throw notOwn(path, "is no directory, but a link to one");
  if (!isOwnUid(stats.uid)) throw notOwn(path, `belongs to another user (uid ${stats.uid})`);
}

function notOwn(path: string, why: string): HoldfastError {
  return new HoldfastError("unsafe_permissions", `${path} ${why}`, { path });
}

export async function listSessionIds(home: Home): Promise<SessionId[]> {
  const names = await readdir(sessionsDir(home.dir));
  return names.filter(isSessionId).sort();
}

/** For those who can't wait. */
export function listSessionIdsNow(home: Pick<Home, "dir">): SessionId[] {
  return readdirSync(sessionsDir(home.dir)).filter(isSessionId).sort();
}

export interface FoundSession {
  readonly id: SessionId;
  readonly dir: string;
  readonly user: string;
}

/** Another user's session is as little there as one that never was. */
export async function findSession(home: Home, idText: string, user = defaultUser()): Promise<FoundSession> {
  const id = parseSessionId(idText);
  const dir = sessionDirOf(home, id);
  const manifest = await readManifest(dir).catch(() => undefined);
  // A spoiled or missing manifest hides nobody's session: the journal knows whose it is.
  const owner =
    manifest?.user ?? (existsSync(journalDir(dir)) ? (await inspectSession(dir)).state.user : undefined);
  if (owner !== user) throw notFound(id);
  await assertPrivate(dir);
  return { id, dir, user };
}

/** A damaged journal may not reach the record that names its session: the directory and the manifest do. */
export async function inspectIn(home: Home, id: SessionId, from?: CachedFold): Promise<Inspected> {
  const dir = sessionDirOf(home, id);
  const inspected = await inspectSession(dir, from).catch(unreadable);
  const { state } = inspected;
  if (!inspected.damage && (state.seq === 0 || state.id === id)) return inspected;
  const manifest = await readManifest(dir).catch(() => undefined);
  // Neither a manifest nor a journal: no session was ever here.
  if (!manifest && !existsSync(journalDir(dir))) return { ...inspected, damage: undefined };
  const reason = `the directory holds the journal of ${state.id}`;
  const damage = inspected.damage ?? { file: journalDir(IN_SESSION), offset: 0, seq: state.seq, reason };
  const user = manifest?.user ?? state.user;
  return { ...inspected, damage, state: { ...state, status: "damaged", id, user } };
}

/** One session that can't be read must not hide the others: it is shown, with the reason. */
function unreadable(error: unknown): Inspected {
  if (!(error instanceof HoldfastError) && errorCode(error) === undefined) throw error;
  const reason = `it can't be read: ${error instanceof Error ? error.message : String(error)}`;
  const damage = { file: journalDir(IN_SESSION), offset: 0, seq: 0, reason };
  return { state: { ...emptyState, status: "damaged" }, position: JOURNAL_START, tornBytes: 0, damage };
}

export function notFound(id: string): HoldfastError {
  return new HoldfastError("session_not_found", `there is no session ${id}`, { session: id });
}
