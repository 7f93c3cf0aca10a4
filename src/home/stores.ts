/**
 * Owns how the store that this home has for a repo is found from the repo's path, even when the repo is gone:
 * snapshots can be read without it. It makes no store.
 */
import { readFile, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type BadFile,
  type FoundStore,
  findBadPacks,
  listStores,
  objectsLink,
  openRepo,
  storePath,
} from "../capsule/index.ts";
import { isHoldfastError } from "../contract/index.ts";
import type { OnProgress } from "../util/index.ts";
import type { Home } from "./home.ts";

export async function findStore(home: Home, repoPath: string): Promise<FoundStore | undefined> {
  const stores = await listStores(home);
  for (const store of stores) {
    // The place where the user's objects are, or were.
    const objects = await readlink(objectsLink({ dir: dirname(store.gitDir) })).catch(() => "");
    if ([repoPath, join(repoPath, ".git")].includes(dirname(objects))) return store;
  }
  try {
    // For example a linked worktree, whose objects are elsewhere.
    const { key } = await openRepo(home, repoPath);
    return stores.find(({ path }) => path === storePath(key));
  } catch (error) {
    if (isHoldfastError(error)) return undefined;
    throw error;
  }
}

/** Checks the packs of each store once, however many sessions have snapshots in it. */
export class PackChecks {
  readonly #onProgress: OnProgress | undefined;
  readonly #checked = new Map<string, Promise<readonly BadFile[]>>();

  constructor(onProgress: OnProgress | undefined) {
    this.#onProgress = onProgress;
  }

  badPacks({ gitDir }: FoundStore): Promise<readonly BadFile[]> {
    const known = this.#checked.get(gitDir) ?? this.#check(gitDir);
    this.#checked.set(gitDir, known);
    return known;
  }

  async #check(gitDir: string): Promise<readonly BadFile[]> {
    const config = await readFile(join(gitDir, "config"), "latin1").catch(() => "");
    const hashBytes = /objectformat\s*=\s*sha256/i.test(config) ? 32 : 20;
    return findBadPacks({ gitDir }, hashBytes, this.#onProgress);
  }
}
