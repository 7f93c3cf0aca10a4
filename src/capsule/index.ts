export { abandonedBuilds, listBases, openBase, setIndex } from "./base/bases.ts";
export { type RunSetup, setupRunner } from "./base/setup.ts";
export { moveToTrash, removeTree, sweepTrash, syncFileSystem } from "./files/directories.ts";
export { mirrorFiles } from "./files/mirror.ts";
export { type BytePath, parentOf, toText } from "./files/path.ts";
export { checkOut } from "./git/check-out.ts";
export { type BadFile, findBadPacks, locateObjects, whyDamaged } from "./git/packs.ts";
export { AgentGit } from "./gitdir/agent-git.ts";
export { makeGitdir, surroundingsOf } from "./gitdir/gitdir.ts";
export { forgetFiles } from "./layer/known-files.ts";
export {
  dropOnlyCopies,
  findLayer,
  forgetLayered,
  layerDir,
  listLayered,
  listLayers,
} from "./layer/layers.ts";
export { sandboxAround } from "./life/borrowed.ts";
export { Capsule, type CapsulePorts } from "./life/capsule.ts";
export { catchUp, differenceFor } from "./life/catch-up.ts";
export {
  type CapsuleSettings,
  clearUnfinished,
  createCapsule,
  detachCapsule,
  type NewCapsule,
  restoreCapsule,
} from "./life/create.ts";
export { equip, findHanded, handBack, handOn, settleHandOn } from "./life/hand-on.ts";
export { listLeases, releasePorts } from "./place/leases.ts";
export { type CapsuleSpec, Place, plainPath, type StrategyName } from "./place/place.ts";
export {
  belowCheckout,
  dropTips,
  heldCommits,
  holdCommit,
  holdOf,
  listCheckouts,
  listTips,
  releaseCommit,
} from "./repo/held.ts";
export { isBranchTaken, refsDirOf } from "./repo/named-branches.ts";
export { noRepoDir } from "./repo/no-repo.ts";
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
} from "./repo/repo.ts";
export { type Unseen, unseenIn } from "./repo/unseen.ts";
export { applySnapshot } from "./snapshot/apply.ts";
export type { Limits } from "./snapshot/choose.ts";
export { type RootRequest, restoreRoot, takeRootSnapshot } from "./snapshot/root-snapshot.ts";
export type { Snapshot } from "./snapshot/snapshot.ts";
export { type Contents, contentsOf, readContents } from "./store/contents.ts";
export { findBadManifests, findBadObjects, findLost, whyUnusable } from "./store/integrity.ts";
export type { SnapshotManifest } from "./store/manifest.ts";
export { reduceSnapshot } from "./store/reduced.ts";
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
} from "./store/store.ts";
export { probeStrategies } from "./strategy/probe.ts";
export { chooseStrategy } from "./strategy/strategies.ts";
export { listAgentCommits, publishAgentCommits } from "./work/agent-commits.ts";
export { commitCheckout } from "./work/dirty.ts";
export { branchTip, publish, publishedBranch } from "./work/publish.ts";
export { contentsInWork, textsInCommit, textsInContents, textsInWork } from "./work/texts.ts";
export { areKept, deleteBranch, type FoundBranch, findBranch, type OwnBranch } from "./work/unpublish.ts";
export {
  commitWork,
  type DiffStat,
  makeWork,
  statOf,
  type Work,
  writePatch,
} from "./work/work.ts";
