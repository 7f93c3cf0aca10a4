/**
 * Owns the store of a repo: a git repo of Holdfast that no capsule sees, with one commit per snapshot. A
 * snapshot's commit needs no object of the user's repo: it holds every byte that differs from the base.
 */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Disk, replaceFile, withFileLock } from "../../util/index.ts";
import type { GitPlace } from "../git/git.ts";
import { type Repo, repoLock } from "../repo/repo.ts";

export interface Store extends GitPlace {
  readonly disk: Disk;
  readonly objectFormat: Repo["objectFormat"];
}

export const SNAPSHOTS = "refs/snapshots";

export const storeDir = (repo: Pick<Repo, "dir">) => join(repo.dir, "store.git");

export async function openStore(repo: Pick<Repo, "dir" | "objectFormat">, disk: Disk): Promise<Store> {
  const gitDir = storeDir(repo);
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
