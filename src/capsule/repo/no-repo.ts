/**
 * Owns the stand-in repo of sessions that have none: an empty repo in the home, to which nothing is ever
 * published. All such sessions of a home share it and its store, as sessions on one repo do.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, readlink, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reposDir, temporaryPath } from "../../util/index.ts";

/** The name of its directory below `repos/`. */
export const NO_REPO = "none";

export const noRepoDir = (home: { readonly dir: string }) => join(reposDir(home.dir), NO_REPO, "empty.git");

export async function makeNoRepo(gitDir: string): Promise<void> {
  if (existsSync(join(gitDir, "HEAD"))) return openObjects(gitDir);
  for (const part of ["objects/pack", "objects/info", "refs/heads", "info"])
    await mkdir(join(gitDir, part), { recursive: true, mode: 0o700 });
  await openObjects(gitDir);
  const config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
  // HEAD is written last: with it, the repo is whole. Another process that makes it at the same time writes
  // the same.
  for (const [name, text] of Object.entries({ config, HEAD: "ref: refs/heads/none\n" })) {
    const temporary = temporaryPath(join(gitDir, name));
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    await rename(temporary, join(gitDir, name));
  }
}

/** For the user of tasks that root starts. The home itself lets no other user in. */
async function openObjects(gitDir: string): Promise<void> {
  for (const part of ["objects", "objects/pack", "objects/info"]) await chmod(join(gitDir, part), 0o755);
}

/** A home that was moved has a link to its old place. */
export async function dropStaleLink(link: string, target: string): Promise<void> {
  const before = await readlink(link).catch(() => target);
  if (before !== target) await rm(link, { force: true });
}
