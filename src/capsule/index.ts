export { listAgentCommits, publishAgentCommits } from "./agent-commits.ts";
export { AgentGit } from "./agent-git.ts";
export { applySnapshot } from "./apply.ts";
export { abandonedBuilds, listBases, openBase, setIndex } from "./bases.ts";
export { sandboxAround } from "./borrowed.ts";
export { Capsule, type CapsulePorts } from "./capsule.ts";
export { catchUp, differenceFor } from "./catch-up.ts";
export { checkOut } from "./check-out.ts";
export type { Limits } from "./choose.ts";
export {
  type CapsuleSettings,
  clearUnfinished,
  createCapsule,
  detachCapsule,
  type NewCapsule,
  restoreCapsule,
} from "./create.ts";
export { moveToTrash, removeTree, sweepTrash, syncFileSystem } from "./directories.ts";
export { commitCheckout } from "./dirty.ts";
export { makeGitdir, surroundingsOf } from "./gitdir.ts";
export { equip, findHanded, handBack, handOn, settleHandOn } from "./hand-on.ts";
export {
  belowCheckout,
  dropTips,
  heldCommits,
  holdCommit,
  holdOf,
  listCheckouts,
  listTips,
  releaseCommit,
} from "./held.ts";
export { findBadManifests, findBadObjects, findLost, whyUnusable } from "./integrity.ts";
export { forgetFiles } from "./known-files.ts";
export { dropOnlyCopies, findLayer, forgetLayered, layerDir, listLayered, listLayers } from "./layers.ts";
export type { SnapshotManifest } from "./manifest.ts";
export { mirrorFiles } from "./mirror.ts";
export { isBranchTaken, refsDirOf } from "./named-branches.ts";
export { noRepoDir } from "./no-repo.ts";
export { type BadFile, findBadPacks, locateObjects, whyDamaged } from "./packs.ts";
export { type BytePath, parentOf, toText } from "./path.ts";
export { type CapsuleSpec, Place, plainPath, type StrategyName } from "./place.ts";
export { listLeases, releasePorts } from "./ports.ts";
export { probeStrategies } from "./probe.ts";
export { branchTip, publish, publishedBranch } from "./publish.ts";
export { readContents, reduceSnapshot } from "./reduced.ts";
export {
  hasDirectory,
  hasObject,
  isAncestor,
  isMerged,
  isUsersCommit,
  listCommit,
  listRepos,
  openRepo,
  type Repo,
  readCommittedBytes,
  remember,
  repoLock,
  resolveCommit,
  treeOf,
  userIdentity,
} from "./repo.ts";
export { type RootRequest, restoreRoot, takeRootSnapshot } from "./root-snapshot.ts";
export { type RunSetup, setupRunner } from "./setup.ts";
export type { Snapshot } from "./snapshot.ts";
export {
  abandonedImports,
  adoptSnapshots,
  countPacks,
  dropSnapshots,
  hasSnapshot,
  isCommitId,
  listManifestBases,
  listNamedSnapshots,
  listSnapshotSessions,
  makeAside,
  type NamedSnapshot,
  openStore,
  packSnapshots,
  readNamedManifest,
  repackStore,
  type Store,
  takeInPack,
  unpackSnapshots,
} from "./store.ts";
export { chooseStrategy } from "./strategies.ts";
export { contentsInWork, textsInCommit, textsInContents, textsInWork } from "./texts.ts";
export { areKept, deleteBranch, type FoundBranch, findBranch, type OwnBranch } from "./unpublish.ts";
export { type Unseen, unseenIn } from "./unseen.ts";
export {
  type Contents,
  commitWork,
  contentsOf,
  type DiffStat,
  makeWork,
  statOf,
  type Work,
  writePatch,
} from "./work.ts";
