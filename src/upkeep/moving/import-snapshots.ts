/**
 * Owns putting the snapshots of an import into the store of the named repo. Each must be the snapshot that
 * the journal names, or the one that the export names in its place; otherwise the import fails.
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
  /** The path of the repo. */
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
  if (!existsSync(pack)) throw invalid("its journal names snapshots, and the export has none");
  if (!commits.every(isCommitId)) throw invalid("its journal names a snapshot that has no valid manifest");
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
          `its files are based on commit ${commit}, which is not in ${path}: push that commit, or the session's branch, from the repo where it was exported; if the task began with uncommitted changes (--dirty), no other repo has the commit`,
          { base: commit },
        );
  }
}

async function assertHomes(store: Store, homes: Homes): Promise<void> {
  for (const one of homes.values()) {
    const { manifest } = await readSnapshot(store, one);
    if (manifest.base !== null || manifest.lower !== null || manifest.gone.length > 0)
      throw invalid(`snapshot ${one.commit} is not a snapshot of HOME`);
  }
}
