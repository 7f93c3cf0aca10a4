/**
 * Owns taking the snapshots of an import into the store of the repo that was named. Each is what the journal says of
 * it, or what its export says stands in its place, or the import fails.
 */
import { existsSync } from "node:fs";
import {
  dropSnapshots,
  hasObject,
  isCommitId,
  openRepo,
  openStore,
  type Repo,
  type Store,
  unpackSnapshots,
} from "../../capsule/index.ts";
import { HoldfastError, type SessionId } from "../../contract/index.ts";
import type { Home } from "../../home/index.ts";
import { type Homes, readSnapshot } from "../../task/index.ts";
import { snapshotsPath } from "../../util/index.ts";
import { invalid } from "./import-manifest.ts";
import type { Named } from "./named.ts";

interface Arriving {
  /** Of the repo. */
  readonly path: string;
  readonly id: SessionId;
  readonly staged: string;
}

export async function takeSnapshots(
  home: Home,
  { path, id, staged }: Arriving,
  { snapshots }: Named,
  homes: Homes = new Map(),
): Promise<void> {
  const carried = [...homes.values()].map(({ commit }) => commit);
  const commits = [...new Set([...snapshots.keys(), ...carried])];
  if (commits.length === 0) return;
  const pack = snapshotsPath(staged);
  if (!existsSync(pack)) throw invalid("its journal names files, and it has none");
  if (!commits.every(isCommitId)) throw invalid("its journal names a snapshot that is none");
  const repo = await openRepo(home, path);
  const store = await openStore(repo, home.io.disk);
  await unpackSnapshots(store, id, pack, commits, home.onProgress);
  try {
    await assertFiles(store, repo, path, snapshots);
    await assertHomes(store, homes);
  } catch (error) {
    await dropSnapshots(store, id);
    throw error;
  }
  await home.io.disk.unlink(pack);
}

async function assertFiles(
  store: Store,
  repo: Repo,
  path: string,
  snapshots: Named["snapshots"],
): Promise<void> {
  for (const one of snapshots.values()) {
    const { manifest } = await readSnapshot(store, one);
    for (const commit of [manifest.base, manifest.lower])
      if (commit !== null && !(await hasObject(repo, commit)))
        throw new HoldfastError(
          "base_missing",
          `its files stand on commit ${commit}, which is not in ${path}: where it was exported, push that commit, or the session's branch; of a checkout with uncommitted changes (--dirty) no other repo has it`,
          { base: commit },
        );
  }
}

async function assertHomes(store: Store, homes: Homes): Promise<void> {
  for (const one of homes.values()) {
    const { manifest } = await readSnapshot(store, one);
    if (manifest.base !== null || manifest.lower !== null || manifest.gone.length > 0)
      throw invalid(`snapshot ${one.commit} is none of a HOME`);
  }
}
