/**
 * Owns the addresses of the remotes of the user's repo, from the user's own configuration. Reading runs
 * nothing, and no rule that rewrites addresses (`insteadOf`) is followed.
 */
import { readUserConfig } from "../git/user-git.ts";
import type { Repo } from "./repo.ts";

/** Where a push to the remote goes, as it is written; empty if there is no such remote. */
export async function pushUrlsOf({ gitDir }: Pick<Repo, "gitDir">, remote: string): Promise<string[]> {
  const settings = await readUserConfig(gitDir, "^remote\\..*\\.(url|pushurl)$");
  const named = (key: string) =>
    settings.filter(({ name }) => name === `remote.${remote}.${key}`).map(({ value }) => value);
  const own = named("pushurl");
  return own.length > 0 ? own : named("url");
}
