/**
 * Owns what stands in for a repo where a session has none: an empty one of ours in the home, which nothing is ever
 * published to. All such sessions of a home share it, and the store that goes with it, as sessions on one repo do.
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
  // HEAD last: with it, it is whole. Whoever makes it at the same time writes the same.
  for (const [name, text] of Object.entries({ config, HEAD: "ref: refs/heads/none\n" })) {
    const temporary = temporaryPath(join(gitDir, name));
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    await rename(temporary, join(gitDir, name));
  }
}

/** For the user of root's tasks. The home itself lets nobody else in. */
async function openObjects(gitDir: string): Promise<void> {
  for (const part of ["objects", "objects/pack", "objects/info"]) await chmod(join(gitDir, part), 0o755);
}

/** A home that was moved has a link to where it was. */
export async function dropStaleLink(link: string, target: string): Promise<void> {
  const before = await readlink(link).catch(() => target);
  if (before !== target) await rm(link, { force: true });
}
