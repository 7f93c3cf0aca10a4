export { applySnapshot } from "./apply.ts";
export { abandonedBuilds, checkOut, listBases, openBase } from "./bases.ts";
export {
  Capsule,
  type CapsulePorts,
  type CapsuleSettings,
  chooseStrategy,
  clearUnfinished,
  createCapsule,
  restoreCapsule,
} from "./capsule.ts";
export { moveToTrash, removeTree, sweepTrash } from "./directories.ts";
export { baseEnvironment } from "./environment.ts";
export { makeGitdir, surroundingsOf } from "./gitdir.ts";
export { findLayer, forgetLayer, layerDir, listLayers } from "./layers.ts";
export { decodeManifest, type SnapshotManifest } from "./manifest.ts";
export { mirrorFiles } from "./mirror.ts";
export { type CapsuleSpec, Place, type StrategyName } from "./place.ts";
export { leasesDir, listLeases, releasePorts } from "./ports.ts";
export { probeStrategies } from "./probe.ts";
export { publish, publishedBranch } from "./publish.ts";
export {
  borrowedObjects,
  hasObject,
  heldCommits,
  isUsersCommit,
  listCommit,
  listRepos,
  objectsLink,
  openRepo,
  type Repo,
  readCommitted,
  releaseCommit,
  repoLock,
  resolveCommit,
  userIdentity,
} from "./repo.ts";
export { type RunSetup, setupRunner } from "./setup.ts";
export type { Limits, Snapshot } from "./snapshot.ts";
export {
  abandonedPacks,
  adoptSnapshots,
  countPacks,
  dropSnapshots,
  hasSnapshot,
  listManifestBases,
  openStore,
  packSnapshots,
  readManifestBytes,
  repackStore,
  type Store,
  unpackSnapshots,
} from "./store.ts";
export { contentsOf, type DiffStat, makeWork, patchOf, statOf, type Work } from "./work.ts";
