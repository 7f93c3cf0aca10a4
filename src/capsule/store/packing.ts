/**
 * Owns whole packs of a store: those in which snapshots move from home to home, and the one that replaces
 * many.
 */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { Meter, type OnProgress } from "../../util/index.ts";
import { git, gitToFile, runGit } from "../git/git.ts";
import { hasSnapshot, nameSnapshot } from "./named.ts";
import type { Store } from "./store.ts";

/** One pack with everything that these snapshots are made of. */
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

/** Takes in such a pack from any source: git checks every object, and that none is missing. */
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

/** Unpacks all objects of a pack into a store of its own. Returns what git reports against it. */
export async function takeInPack(
  store: Store,
  pack: string,
  onProgress?: OnProgress,
): Promise<string | undefined> {
  const input = await readingPack(pack, onProgress);
  const { exitCode, stderr } = await runGit(store, ["index-pack", "--stdin"], { input, accept: [0, 1, 128] });
  return exitCode === 0 ? undefined : `git refuses it: ${stderr.trim().split("\n").at(-1)}`;
}

/**
 * Looking through many small packs is slow: one pack replaces them. Nothing is dropped, even if no snapshot
 * names it: one may be about to.
 */
export async function repackStore(store: Store): Promise<void> {
  await git(store, ["repack", "-a", "-d", "-k", "-q"], { config: ["pack.threads=1"] });
}

export async function countPacks({ gitDir }: Store): Promise<number> {
  return (await readdir(join(gitDir, "objects", "pack"))).filter((name) => name.endsWith(".pack")).length;
}
