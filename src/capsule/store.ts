/**
 * Owns the store of a repo: a git repo of ours, which no capsule sees, with one commit per snapshot. A
 * snapshot's commit needs no object of the user's: it holds every byte that differs from the base.
 *
 * K7 What a snapshot's commit names is on disk when `importObjects` returns, names included.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { type Disk, readTextOr, temporaryPath, withFileLock } from "../util/index.ts";
import { type GitPlace, git, gitLine, runGit } from "./git.ts";
import { type Repo, repoLock } from "./repo.ts";

export interface Store extends GitPlace {
  readonly disk: Disk;
}

const SNAPSHOTS = "refs/snapshots";

export async function openStore(repo: Pick<Repo, "dir" | "objectFormat">, disk: Disk): Promise<Store> {
  const gitDir = join(repo.dir, "store.git");
  // HEAD is written last: with it the store is whole.
  if (!existsSync(join(gitDir, "HEAD")))
    await withFileLock(repoLock(repo), () => makeStore(repo, disk, gitDir));
  return { gitDir, disk };
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
  await writeFile(
    join(gitDir, "config"),
    `[core]\n\trepositoryformatversion = ${isSha256 ? 1 : 0}\n\tbare = true\n${format}`,
  );
  await writeFile(join(gitDir, "HEAD"), "ref: refs/heads/none\n");
  for (const part of ["objects/pack", "objects", SNAPSHOTS, "refs", "", ".."])
    await disk.syncDir(join(gitDir, part));
}

export const snapshotRef = (session: string, name: string) => `${SNAPSHOTS}/${session}/${name}`;

/**
 * Feeds a stream to `git fast-import`, which writes one pack. Returns the ids of the marks that it set.
 * Without `alternates` nothing but the store's own objects is taken for being there already.
 */
export async function importObjects(
  store: Store,
  stream: AsyncIterable<Uint8Array>,
  { alternates = [], ref }: { readonly alternates?: readonly string[]; readonly ref?: string } = {},
): Promise<{ ids: Map<number, string>; answers: string }> {
  const marks = temporaryPath(join(store.gitDir, "marks"));
  try {
    const answers = await git(
      { gitDir: store.gitDir, alternates },
      ["fast-import", "--quiet", "--done", "--force", `--export-marks=${marks}`],
      {
        input: stream,
        config: ["fastimport.unpackLimit=0", "core.compression=1", "core.bigFileThreshold=64m"],
      },
    );
    await store.disk.syncDir(join(store.gitDir, "objects", "pack"));
    if (ref !== undefined) await syncRef(store, ref);
    return { ids: parseMarks(readTextOr(marks, "")), answers: answers.toString("latin1") };
  } catch (error) {
    await clearCrashReports(store);
    throw error;
  } finally {
    await unlink(marks).catch(() => {});
  }
}

async function syncRef(store: Store, ref: string): Promise<void> {
  const parts = ref.split("/").slice(0, -1);
  for (let length = parts.length; length > 0; length -= 1)
    await store.disk.syncDir(join(store.gitDir, ...parts.slice(0, length)));
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
  const { exitCode, stdout } = await runGit(store, ["cat-file", "blob", `${commit}:manifest.json`], {
    accept: [0, 128],
  });
  if (exitCode !== 0)
    throw new HoldfastError("snapshot_invalid", `snapshot ${commit} is not in the store`, {
      snapshot: commit,
    });
  return stdout;
}

/** A fork keeps what it may need, whatever becomes of its parent. */
export async function adoptSnapshots(store: Store, from: string, to: string): Promise<void> {
  const prefix = `${SNAPSHOTS}/${from}/`;
  const lines = (await gitLine(store, ["for-each-ref", "--format=%(objectname) %(refname)", prefix])).split(
    "\n",
  );
  const commands = lines.filter(Boolean).map((line) => {
    const [id, ref = ""] = line.split(" ");
    return `update ${SNAPSHOTS}/${to}/${ref.slice(prefix.length)} ${id}\n`;
  });
  if (commands.length > 0)
    await git(store, ["update-ref", "--stdin"], { input: [Buffer.from(commands.join(""))] });
}

/** One pack with all that these snapshots are made of. */
export async function packSnapshots(store: Store, commits: readonly string[]): Promise<Buffer> {
  const input = [Buffer.from(commits.map((commit) => `${commit}\n`).join(""))];
  return git(store, ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"], {
    input,
    config: ["pack.threads=1"],
  });
}

/** Takes such a pack in, from wherever it comes: git checks every object, and that none is missing. */
export async function unpackSnapshots(
  store: Store,
  session: string,
  pack: Buffer,
  commits: readonly string[],
): Promise<void> {
  const { exitCode, stderr } = await runGit(store, ["index-pack", "--stdin", "--strict", "--fsck-objects"], {
    input: [pack],
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
  const commands = commits.map((commit) => `update ${snapshotRef(session, commit)} ${commit}\n`);
  await git(store, ["update-ref", "--stdin"], { input: [Buffer.from(commands.join(""))] });
  await store.disk.syncDir(join(store.gitDir, "objects", "pack"));
  for (const ref of commits.map((commit) => snapshotRef(session, commit)).slice(0, 1))
    await syncRef(store, ref);
}

/** The commits that all snapshots stand on. Each names them in its message, so that no manifest has to be read. */
export async function listManifestBases(store: Store): Promise<string[]> {
  const out = await gitLine(store, ["for-each-ref", "--format=%(contents:body)", SNAPSHOTS]);
  return [...new Set(out.match(/[0-9a-f]{40,64}/g) ?? [])];
}

/** Snapshots of a session go with it. */
export async function dropSnapshots(store: Store, session: string): Promise<void> {
  const refs = (
    await gitLine(store, ["for-each-ref", "--format=%(refname)", `${SNAPSHOTS}/${session}`])
  ).split("\n");
  const commands = refs.filter(Boolean).map((ref) => `delete ${ref}\n`);
  if (commands.length > 0)
    await git(store, ["update-ref", "--stdin"], { input: [Buffer.from(commands.join(""))] });
}

/** Many small packs are slow to look through: one takes their place, without what no snapshot names. */
export async function repackStore(store: Store): Promise<void> {
  await git(store, ["repack", "-a", "-d", "-q"], { config: ["pack.threads=1"] });
}

export async function countPacks({ gitDir }: Store): Promise<number> {
  return (await readdir(join(gitDir, "objects", "pack"))).filter((name) => name.endsWith(".pack")).length;
}

/** Half-written packs: of imports that were killed, once nobody can be writing them any more. */
export async function abandonedPacks({ gitDir }: Store, olderThanMs: number): Promise<string[]> {
  const dir = join(gitDir, "objects", "pack");
  const names = (await readdir(dir)).filter((name) => name.startsWith("tmp_"));
  const paths = await Promise.all(
    names.map(async (name) => ((await stat(join(dir, name))).mtimeMs < olderThanMs ? [join(dir, name)] : [])),
  );
  return paths.flat();
}
