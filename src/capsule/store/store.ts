/**
 * Owns the store of a repo: a git repo of ours, which no capsule sees, with one commit per snapshot. A
 * snapshot's commit needs no object of the user's: it holds every byte that differs from the base.
 *
 * K7 What a snapshot's commit names is on disk when `importObjects` returns, names included.
 */
import { randomUUID } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import {
  type Disk,
  isAlive,
  Meter,
  type OnProgress,
  readTextOr,
  replaceFile,
  sha256Hex,
  withFileLock,
} from "../../util/index.ts";
import { type GitPlace, git, gitLine, gitToFile, runGit } from "../git/git.ts";
import { type Repo, repoLock } from "../repo/repo.ts";
import { decodeManifest, type SnapshotManifest } from "./manifest.ts";

export interface Store extends GitPlace {
  readonly disk: Disk;
  readonly objectFormat: Repo["objectFormat"];
}

const SNAPSHOTS = "refs/snapshots";

export async function openStore(repo: Pick<Repo, "dir" | "objectFormat">, disk: Disk): Promise<Store> {
  const gitDir = join(repo.dir, "store.git");
  // HEAD is written last: with it the store is whole.
  if (!existsSync(join(gitDir, "HEAD")))
    await withFileLock(repoLock(repo), () => makeStore(repo, disk, gitDir));
  return { gitDir, disk, objectFormat: repo.objectFormat };
}

async function makeStore(
  repo: Pick<Repo, "dir" | "objectFormat">,
  disk: Disk,
  gitDir: string,
): Promise<void> {
  if (existsSync(join(gitDir, "HEAD"))) return;
  for (const part of ["", "objects", "objects/pack", "objects/info", "refs", "refs/heads", SNAPSHOTS])
    await mkdir(join(gitDir, part), { recursive: true, mode: 0o700 });
  const isSha256 = repo.objectFormat === "sha256";
  const format = isSha256 ? "[extensions]\n\tobjectFormat = sha256\n" : "";
  const config = `[core]\n\trepositoryformatversion = ${isSha256 ? 1 : 0}\n\tbare = true\n${format}`;
  await replaceFile(disk, join(gitDir, "config"), Buffer.from(config));
  await replaceFile(disk, join(gitDir, "HEAD"), Buffer.from("ref: refs/heads/none\n"));
  for (const part of ["objects/pack", "objects", SNAPSHOTS, "refs", "", ".."])
    await disk.syncDir(join(gitDir, part));
}

const snapshotRef = (session: string, name: string) => `${SNAPSHOTS}/${session}/${name}`;

/**
 * Feeds a stream to `git fast-import`, which writes one pack, aside; synced, it is moved into the store. Returns
 * the ids of the marks that were set. Only the store's own objects, and those of `alternates`, are taken for being
 * there already.
 */
export async function importObjects(
  store: Store,
  stream: AsyncIterable<Uint8Array>,
  alternates: readonly string[] = [],
): Promise<{ ids: Map<number, string>; answers: string }> {
  const aside = await makeAside(store);
  const marks = join(aside, "marks");
  try {
    await mkdir(join(aside, "pack"), { mode: 0o700 });
    const place = {
      gitDir: store.gitDir,
      objects: aside,
      alternates: [join(store.gitDir, "objects"), ...alternates],
    };
    const args = ["fast-import", "--quiet", "--done", "--force", `--export-marks=${marks}`];
    const answers = await git(place, args, { input: stream, config: IMPORT_SETTINGS });
    await takeIn(store, join(aside, "pack"));
    return { ids: parseMarks(readTextOr(marks, "")), answers: answers.toString("latin1") };
  } catch (error) {
    await clearCrashReports(store);
    throw error;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** A commit in a stream needs a ref; at the stream's end this one is forgotten again. */
export function streamRef({ objectFormat }: Store): { readonly ref: string; readonly forget: string } {
  const ref = `refs/stream/${randomUUID()}`;
  return { ref, forget: `reset ${ref}\nfrom ${"0".repeat(objectFormat === "sha256" ? 64 : 40)}\n\n` };
}

const ASIDE = "incoming-";
const IMPORT_SETTINGS = ["fastimport.unpackLimit=0", "core.compression=1", "core.bigFileThreshold=64m"];

/** A directory for what is on its way, named after us: when we are gone, it is anybody's to clear. */
export async function makeAside({ gitDir }: Pick<GitPlace, "gitDir">): Promise<string> {
  const path = join(gitDir, `${ASIDE}${process.pid}-${randomUUID().slice(0, 8)}`);
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** The pack before its index: with that, git takes it for whole. */
async function takeIn(store: Store, from: string): Promise<void> {
  const to = join(store.gitDir, "objects", "pack");
  const names = (await readdir(from))
    .filter((name) => /\.(pack|idx)$/.test(name))
    .sort()
    .reverse();
  for (const name of names) {
    await syncFile(join(from, name));
    await store.disk.rename(join(from, name), join(to, name));
  }
  if (names.length > 0) await store.disk.syncDir(to);
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A snapshot that has a name is kept. Written by hand: the name is new, so nobody else can be writing it. */
export async function nameSnapshot(
  store: Store,
  session: string,
  name: string,
  commit: string,
): Promise<void> {
  const path = join(store.gitDir, snapshotRef(session, name));
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(store.disk, path, Buffer.from(`${commit}\n`));
  await store.disk.syncDir(dirname(dirname(path)));
}

/** Of imports that were killed. */
export async function abandonedImports({ gitDir }: Store): Promise<string[]> {
  const names = (await readdir(gitDir)).filter((name) => name.startsWith(ASIDE));
  const isLeft = (name: string) => !isAlive({ pid: Number(name.split("-")[1]), startTicks: null });
  return names.filter(isLeft).map((name) => join(gitDir, name));
}

async function clearCrashReports({ gitDir }: Store): Promise<void> {
  const names = await readdir(gitDir).catch(() => []);
  for (const name of names.filter((one) => one.startsWith("fast_import_crash_")))
    await rm(join(gitDir, name), { force: true });
}

function parseMarks(text: string): Map<number, string> {
  const lines = text.split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => [Number(line.slice(1, line.indexOf(" "))), line.slice(line.indexOf(" ") + 1)]),
  );
}

export async function hasSnapshot(store: Store, commit: string): Promise<boolean> {
  return (
    (await runGit(store, ["cat-file", "-e", `${commit}^{commit}`], { accept: [0, 1, 128] })).exitCode === 0
  );
}

export async function readManifestBytes(store: Store, commit: string): Promise<Buffer> {
  const args = ["cat-file", "blob", `${commit}:manifest.json`];
  const { exitCode, stdout } = isCommitId(commit)
    ? await runGit(store, args, { accept: [0, 128] })
    : { exitCode: 128, stdout: Buffer.alloc(0) };
  if (exitCode !== 0)
    throw new HoldfastError("snapshot_invalid", `snapshot ${commit} is not in the store`, {
      snapshot: commit,
    });
  return stdout;
}

/** As a journal names it. */
export interface NamedSnapshot {
  readonly commit: string;
  readonly manifest: string;
}

/** As git writes an id: whoever wrote a journal, nothing else is handed to git. */
export const isCommitId = (text: string) => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

/** The manifest of a snapshot that a journal names: the one that it means, or none. */
export async function readNamedManifest(
  store: Store,
  { commit, manifest }: NamedSnapshot,
): Promise<SnapshotManifest> {
  const bytes = await readManifestBytes(store, commit);
  if (sha256Hex(bytes) === manifest) return decodeManifest(bytes);
  throw new HoldfastError("snapshot_invalid", `snapshot ${commit} is not the one that the journal names`, {
    snapshot: commit,
  });
}

/** A fork keeps what it may need, whatever becomes of its parent; what is damaged there can't be kept. */
export async function adoptSnapshots(store: Store, from: string, to: string): Promise<void> {
  const prefix = `${SNAPSHOTS}/${from}/`;
  const lines = (await gitLine(store, ["for-each-ref", "--format=%(objectname) %(refname)", prefix])).split(
    "\n",
  );
  const commands = lines.filter(Boolean).map((line) => {
    const [id, ref = ""] = line.split(" ");
    return `update ${SNAPSHOTS}/${to}/${ref.slice(prefix.length)} ${id}\n`;
  });
  if (commands.length === 0) return;
  const update = (command: string) =>
    runGit(store, ["update-ref", "--stdin"], { input: [Buffer.from(command)], accept: [0, 128] });
  // Git names all of them, or none.
  if ((await update(commands.join(""))).exitCode === 0) return;
  for (const command of commands) await update(command);
}

/** One pack with all that these snapshots are made of. */
export async function packSnapshots(
  store: Store,
  commits: readonly string[],
  path: string,
  onProgress?: OnProgress,
): Promise<void> {
  const meter = new Meter(onProgress, "packing snapshots");
  const input = [Buffer.from(commits.map((commit) => `${commit}\n`).join(""))];
  const args = ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"];
  const onBytes = (bytes: number) => meter.add({ bytes });
  await gitToFile(store, args, path, { input, config: ["pack.threads=1"], onBytes });
}

/** Takes such a pack in, from wherever it comes: git checks every object, and that none is missing. */
export async function unpackSnapshots(
  store: Store,
  session: string,
  pack: string,
  commits: readonly string[],
  onProgress?: OnProgress,
): Promise<void> {
  const { exitCode, stderr } = await runGit(store, ["index-pack", "--stdin", "--strict", "--fsck-objects"], {
    input: await readingPack(pack, onProgress),
    accept: [0, 1, 128],
  });
  if (exitCode !== 0)
    throw new HoldfastError(
      "export_invalid",
      `git refuses the snapshots: ${stderr.trim().split("\n").at(-1)}`,
    );
  for (const commit of commits)
    if (!(await hasSnapshot(store, commit)))
      throw new HoldfastError("export_invalid", `snapshot ${commit} is missing`);
  await store.disk.syncDir(join(store.gitDir, "objects", "pack"));
  for (const commit of commits) await nameSnapshot(store, session, commit, commit);
}

async function readingPack(pack: string, onProgress: OnProgress | undefined): Promise<AsyncIterable<Buffer>> {
  const meter = new Meter(onProgress, "unpacking snapshots", { ofBytes: (await stat(pack)).size });
  return meter.counting(createReadStream(pack) as AsyncIterable<Buffer>);
}

/** All that sessions name; or all but one of them. */
export async function listNamedSnapshots(store: Store, except?: string): Promise<ReadonlySet<string>> {
  const out = await gitLine(store, ["for-each-ref", "--format=%(objectname) %(refname)", SNAPSHOTS]);
  const rows = out.split("\n").filter(Boolean);
  const others = rows.filter((row) => except === undefined || !row.includes(` ${SNAPSHOTS}/${except}/`));
  return new Set(others.map((row) => row.slice(0, row.indexOf(" "))));
}

/** All objects of a pack, into a store of its own; says what git says against it. */
export async function takeInPack(
  store: Store,
  pack: string,
  onProgress?: OnProgress,
): Promise<string | undefined> {
  const input = await readingPack(pack, onProgress);
  const { exitCode, stderr } = await runGit(store, ["index-pack", "--stdin"], { input, accept: [0, 1, 128] });
  return exitCode === 0 ? undefined : `git refuses it: ${stderr.trim().split("\n").at(-1)}`;
}

/** The commits that all snapshots stand on. Each names them in its message, so that no manifest has to be read. */
export async function listManifestBases(store: Store): Promise<string[]> {
  const out = await gitLine(store, ["for-each-ref", "--format=%(contents:body)", SNAPSHOTS]);
  return [...new Set(out.match(/[0-9a-f]{40,64}/g) ?? [])];
}

/** The sessions that have snapshots here. */
export async function listSnapshotSessions({
  gitDir,
}: GitPlace): Promise<{ session: string; changedAtMs: number }[]> {
  const dir = join(gitDir, SNAPSHOTS);
  const names = await readdir(dir).catch(() => []);
  return Promise.all(
    names.map(async (session) => ({ session, changedAtMs: (await stat(join(dir, session))).mtimeMs })),
  );
}

/** Snapshots of a session go with it. */
export async function dropSnapshots(store: GitPlace, session: string): Promise<void> {
  const refs = (
    await gitLine(store, ["for-each-ref", "--format=%(refname)", `${SNAPSHOTS}/${session}`])
  ).split("\n");
  const commands = refs.filter(Boolean).map((ref) => `delete ${ref}\n`);
  if (commands.length > 0)
    await git(store, ["update-ref", "--stdin"], { input: [Buffer.from(commands.join(""))] });
}

/**
 * Many small packs are slow to look through: one takes their place. Nothing is dropped, also not what no snapshot
 * names: somebody may be about to name it.
 */
export async function repackStore(store: Store): Promise<void> {
  await git(store, ["repack", "-a", "-d", "-k", "-q"], { config: ["pack.threads=1"] });
}

export async function countPacks({ gitDir }: Store): Promise<number> {
  return (await readdir(join(gitDir, "objects", "pack"))).filter((name) => name.endsWith(".pack")).length;
}
