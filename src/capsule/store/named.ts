/**
 * Owns the refs of snapshots in a store: one for each, below its session. A snapshot that has a ref is kept.
 */
import { mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { replaceFile, sha256Hex } from "../../util/index.ts";
import { type GitPlace, git, gitLine, runGit } from "../git/git.ts";
import { decodeManifest, type SnapshotManifest } from "./manifest.ts";
import { SNAPSHOTS, type Store } from "./store.ts";

const snapshotRef = (session: string, name: string) => `${SNAPSHOTS}/${session}/${name}`;

/**
 * Gives a snapshot a ref, which keeps it. The file is written directly: the name is new, so no other process
 * writes it.
 */
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

/** In the form in which a journal names it. */
export interface NamedSnapshot {
  readonly commit: string;
  readonly manifest: string;
}

/** The form in which git writes an id. Nothing else from a journal is passed to git. */
export const isCommitId = (text: string) => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

/** The manifest of a snapshot that a journal names. Fails if it is not the one that the journal means. */
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

/**
 * A fork keeps what it may need, whatever becomes of its parent. Snapshots that are damaged there can't be
 * kept.
 */
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
  // Git sets all of them or none.
  if ((await update(commands.join(""))).exitCode === 0) return;
  for (const command of commands) await update(command);
}

/** All snapshots that sessions name, or those of all sessions but one. */
export async function listNamedSnapshots(store: Store, except?: string): Promise<ReadonlySet<string>> {
  const out = await gitLine(store, ["for-each-ref", "--format=%(objectname) %(refname)", SNAPSHOTS]);
  const rows = out.split("\n").filter(Boolean);
  const others = rows.filter((row) => except === undefined || !row.includes(` ${SNAPSHOTS}/${except}/`));
  return new Set(others.map((row) => row.slice(0, row.indexOf(" "))));
}

/**
 * The commits that all snapshots stand on. Each snapshot names them in its message, so that no manifest has
 * to be read.
 */
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

/** Removes the refs of a session's snapshots. */
export async function dropSnapshots(store: GitPlace, session: string): Promise<void> {
  const refs = (
    await gitLine(store, ["for-each-ref", "--format=%(refname)", `${SNAPSHOTS}/${session}`])
  ).split("\n");
  const commands = refs.filter(Boolean).map((ref) => `delete ${ref}\n`);
  if (commands.length > 0)
    await git(store, ["update-ref", "--stdin"], { input: [Buffer.from(commands.join(""))] });
}
