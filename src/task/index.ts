export type { Branched, BranchOptions } from "./branch.ts";
export { readSnapshot } from "./checkpoint.ts";
export { type Diff, type DiffOptions, diffSession } from "./diff.ts";
export { forkSession } from "./forking.ts";
export type { HandOff, HandOffOptions, Returned, TakeBackOptions } from "./handoff.ts";
export { giveBackCaches } from "./home-caches.ts";
export { isCredential } from "./home-files.ts";
export { decodeHomes, encodeHomes, type Homes, readHomes } from "./homes.ts";
export type { TaskEnd, TaskOptions } from "./in-hand.ts";
export { Feed } from "./inbox/feed.ts";
export { Intake, type ShellRequest } from "./inbox/intake.ts";
export { assertWhole, Named } from "./inbox/named.ts";
export { type KeptArtifact, KeptNames, type KeptSnapshot } from "./kept-names.ts";
export { isOutputOf, keepOutput, outputPath, outputRoom } from "./output.ts";
export { capsuleDirsOf, taskCapsules } from "./owned-capsules.ts";
export { type Quota, readSettings } from "./quota.ts";
export type { Rewound } from "./rewind.ts";
export { readConfig } from "./room.ts";
export {
  branchSession,
  handOffSession,
  openFiles,
  restoreSession,
  rewindSession,
  takeBackSession,
  tearDownSession,
} from "./session-files.ts";
export { resumeWithFiles, settleSession, type WithFiles } from "./session-life.ts";
export { locatingDamage } from "./snapshot-damage.ts";
export type { Joined, Stop } from "./stages/act.ts";
export { type Driven, runStages } from "./stages/run-stages.ts";
export { directoryMissing } from "./start-directory.ts";
export { cleanBase, commitBelow } from "./starting-point.ts";
export type { BesideOptions, Task, TurnEnd } from "./task.ts";
export { bringFiles, currentTask, discardUnused, keeperOf, restFiles, roomOf, startTask } from "./tasks.ts";
export { type Receipt, type Restored, type TeardownOptions, tearDown } from "./teardown.ts";
export { valuesFor } from "./values.ts";
export { readWithheld, type Withheld } from "./withheld.ts";
