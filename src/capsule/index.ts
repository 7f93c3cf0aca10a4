export { isInputOf } from "./base/bases.ts";
export { type RunSetup, type SetupNetwork, setupRunner } from "./base/setup.ts";
export { CapsuleDir, plainPath } from "./dir/capsule-dir.ts";
export { moveToTrash, removeTree, sweepTrash, syncFileSystem } from "./files/directories.ts";
export { mirrorFiles } from "./files/mirror.ts";
export { OpenDir } from "./files/open-dir.ts";
export { giveOnce, giveTo, takeBack } from "./files/ownership.ts";
export { type BytePath, fromText, hasGitLike, parentOf, toText } from "./files/path.ts";
export type { View } from "./files/view.ts";
export { GIT, git, gitLine } from "./git/git.ts";
export { type BadFile, findBadPacks, locateObjects, whyDamaged } from "./git/packs.ts";
export type { RawChange } from "./git/raw-diff.ts";
export { AgentGit } from "./gitdir/agent-git.ts";
export { dropOnlyCopies, layerDirsOf } from "./layer/layers.ts";
export { renewHolds } from "./leftovers/holds.ts";
export { capsuleLeftovers } from "./leftovers/list.ts";
export { forgetSession } from "./leftovers/strangers.ts";
export { sandboxAround } from "./life/borrowed.ts";
export { type CapsuleSettings, clearUnfinished, detachCapsule, type NewCapsule } from "./life/build.ts";
export { Capsule } from "./life/capsule.ts";
export { catchUp, differenceFor, moveOnto } from "./life/catch-up.ts";
export { cgroupOfTasks } from "./life/cgroups.ts";
export { createCapsule } from "./life/create.ts";
export { createExactCapsule } from "./life/exact.ts";
export { equip, findHanded, handBack, handOn, settleHandOn } from "./life/hand-on.ts";
export type { CapsuleIo } from "./life/io.ts";
export { type CapsuleOwner, type Custody, findCapsule, type OwnedCapsule } from "./life/owner.ts";
export { assertReadable } from "./life/readable.ts";
export { type KeptFiles, keepFiles } from "./life/renewal.ts";
export { restoreCapsule } from "./life/restore.ts";
export { hasDirectory, hasObject, listCommit, readCommittedBytes, treeOf } from "./repo/commits.ts";
export {
  belowCheckout,
  listTips,
} from "./repo/held.ts";
export { findTrees, sessionBranches } from "./repo/looking-up.ts";
export { isBranchTaken, refsDirOf } from "./repo/named-branches.ts";
export { noRepoDir } from "./repo/no-repo.ts";
export { isAncestor, isMerged, isUsersCommit, ownCommits, resolveCommit } from "./repo/refs.ts";
export { pushUrlsOf } from "./repo/remotes.ts";
export { mergeLock, objectsLink, openRepo, type Repo, remember, withUsersObjects } from "./repo/repo.ts";
export { hooksInTree, userIdentity } from "./repo/settings.ts";
export { type Unseen, unseenIn } from "./repo/unseen.ts";
export { applySnapshot } from "./snapshot/apply.ts";
export type { SnapshotLimits } from "./snapshot/choose.ts";
export { type RootRequest, restoreRoot, takeRootSnapshot } from "./snapshot/root-snapshot.ts";
export type { Snapshot } from "./snapshot/snapshot.ts";
export { readCommit } from "./store/commits.ts";
export { type Contents, contentsOf, readContents } from "./store/contents.ts";
export { type FoundStore, listStores, storePath } from "./store/found.ts";
export { findBadManifests, findBadObjects, findLost, whyUnusable } from "./store/integrity.ts";
export type { SnapshotManifest } from "./store/manifest.ts";
export {
  adoptSnapshots,
  dropSnapshots,
  hasSnapshot,
  isCommitId,
  type NamedSnapshot,
  readNamedManifest,
} from "./store/named.ts";
export { packSnapshots, takeInPack, unpackSnapshots } from "./store/packing.ts";
export { reduceSnapshot } from "./store/reduced.ts";
export { openStore, type Store } from "./store/store.ts";
export { probeStrategies } from "./strategy/probe.ts";
export { chooseStrategy } from "./strategy/strategies.ts";
export { publishAgentCommits } from "./work/agent-branch.ts";
export { listAgentCommits } from "./work/agent-commits.ts";
export {
  type ChangedFile,
  type FileVersion,
  readChangedFiles,
  versionsBetween,
} from "./work/changed-files.ts";
export { collisions, type LiveWork } from "./work/collisions.ts";
export type { ReadCommit } from "./work/commit-text.ts";
export { commitCheckout } from "./work/dirty.ts";
export { makeExactTree } from "./work/exact-tree.ts";
export { type LinedCommits, takeCommits } from "./work/kept-commits.ts";
export { assertMovable, findTarget, finishMove, moveTarget, type Target } from "./work/move-target.ts";
export { assertPublishable, branchTip, copyObjects, publish, publishedBranch } from "./work/publish.ts";
export { makePushDir } from "./work/push-dir.ts";
export type { CommitToJudge } from "./work/quarantine.ts";
export { type Conflicted, isConflicted, type Replayed, replay } from "./work/replay.ts";
export { contentsInWork, textsInCommit, textsInContents, textsInWork } from "./work/texts.ts";
export { areKept, deleteBranch, type FoundBranch, findBranch, type OwnBranch } from "./work/unpublish.ts";
export {
  changedPaths,
  changesBetween,
  commitText,
  commitWork,
  type DiffStat,
  isCommitOf,
  makeWork,
  readPatch,
  statOf,
  type Work,
  writePatch,
} from "./work/work.ts";
