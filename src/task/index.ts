export { readSnapshot } from "./files/checkpoint.ts";
export { type KeptArtifact, KeptNames, type KeptSnapshot } from "./files/kept-names.ts";
export { taskCapsules } from "./files/owned-capsules.ts";
export type { Rewound } from "./files/rewind.ts";
export { locatingDamage } from "./files/snapshot-damage.ts";
export { directoryMissing } from "./files/start-directory.ts";
export { cleanBase, commitBelow, startingPoint } from "./files/starting-point.ts";
export { capsuleDirsOf, hasWorker, taskDirsOf, WORKER_SUFFIX } from "./files/task-dirs.ts";
export { type Receipt, type Restored, type TeardownOptions, tearDown } from "./files/teardown.ts";
export { workNow } from "./files/work-now.ts";
export type { HandOff, HandOffOptions, Returned, TakeBackOptions } from "./handoff/handoff.ts";
export { giveBackCaches } from "./home/home-caches.ts";
export { isCredential } from "./home/home-files.ts";
export { decodeHomes, encodeHomes, type Homes, readHomes } from "./home/homes.ts";
export { readWithheld, type Withheld } from "./home/withheld.ts";
export type { TaskInHand, TaskOptions } from "./in-hand.ts";
export { type Decision, enterDecision, recordDecision, subjectOf } from "./inbox/decisions.ts";
export { type HostRequest, Intake, type ShellRequest } from "./inbox/intake.ts";
export { MessageDelivery } from "./inbox/message-delivery.ts";
export { assertWhole, Named } from "./inbox/named.ts";
export type { Branched, BranchOptions } from "./results/branch.ts";
export { type ConflictsIn, conflictsOf } from "./results/conflicts.ts";
export { type Diff, type DiffOptions, diffSession, diffTrees, type ShownDiff } from "./results/diff.ts";
export type { MergedWork, MergeOptions } from "./results/merging.ts";
export { isOutputOf, keepOutput, outputPath, outputRoom } from "./results/output.ts";
export { findingsBetween, findingsText } from "./results/policy.ts";
export { branchOf, messageOf } from "./results/publishing.ts";
export type { Rebased, RebaseOptions } from "./results/rebasing.ts";
export type { ConflictedFiles } from "./results/resolving.ts";
export { TRACE_FILE } from "./results/task-artifacts.ts";
export { valuesBefore, valuesFor, valuesInWork } from "./results/values.ts";
export { readConfig, trustPlace } from "./room/config.ts";
export { assertSame, type Executable, findExecutable, type ProgramTarget } from "./room/executable.ts";
export { DOOR_INSIDE } from "./room/invocation.ts";
export { type WorkNetwork, withHosts } from "./room/network.ts";
export type { Quota } from "./room/quota.ts";
export { Watch } from "./room/quota-watch.ts";
export { readQuota, settingsOf } from "./room/room.ts";
export { sandboxOf, toolsOf } from "./room/sandbox.ts";
export { forkSession } from "./session/forking.ts";
export { cancelParked } from "./session/parked.ts";
export {
  decideOnFile,
  forgetTrust,
  type RepoFile,
  readRepoFile,
  readRepoText,
  trustOf,
  type WhichFile,
} from "./session/repo-file.ts";
export {
  branchSession,
  giveBackConflict,
  handOffSession,
  mergeSession,
  openFiles,
  rebaseSession,
  restoreSession,
  rewindSession,
  takeBackSession,
  tearDownSession,
} from "./session/session-files.ts";
export { resumeWithFiles, settleSession, type WithFiles } from "./session/session-life.ts";
export {
  bringFiles,
  currentTask,
  discardUnused,
  keeperOf,
  restFiles,
  roomOf,
  startTask,
} from "./session/tasks.ts";
export type { Joined, Stop } from "./stages/act.ts";
export { type Driven, runStages } from "./stages/run-stages.ts";
export type { BesideOptions, Task } from "./task.ts";
export { checkLane, makeExactFiles } from "./verify/exact-files.ts";
export { type Receipt as CheckReceipt, readReceipts } from "./verify/receipts.ts";
