/**
 * Owns the list of the stores that a home has, including those of repos that are gone: reading snapshots
 * needs nothing of the repo. It makes no store.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { IN_HOME, reposDir } from "../../util/index.ts";
import { storeDir } from "./store.ts";

export interface FoundStore {
  readonly gitDir: string;
  /** Below the home: `repos/<key>/store.git`. */
  readonly path: string;
}

/** Below the home, for a repo with this key. */
export const storePath = (key: string) => storeDir({ dir: join(reposDir(IN_HOME), key) });

export async function listStores(home: { readonly dir: string }): Promise<FoundStore[]> {
  const keys = await readdir(reposDir(home.dir)).catch(() => []);
  return keys
    .map((key) => ({ path: storePath(key), gitDir: join(home.dir, storePath(key)) }))
    .filter(({ gitDir }) => existsSync(gitDir));
}
