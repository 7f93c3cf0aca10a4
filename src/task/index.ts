export { settleFiles } from "./begin.ts";
export { type Branched, type BranchOptions, branchCommits, branchWork } from "./branch.ts";
export { readSnapshot, workAgain } from "./checkpoint.ts";
export { type HandOff, handOff, type Returned, type TakeBackOptions, takeBack } from "./handoff.ts";
export { giveBackCaches } from "./home-caches.ts";
export { isCredential } from "./home-files.ts";
export { decodeHomes, encodeHomes, HOMES_FILE, type Homes, readHomes } from "./homes.ts";
export { isOutputOf, keepOutput, outputPath, outputRoom } from "./output.ts";
export { type Quota, readSettings } from "./quota.ts";
export { finishRewind, type Rewound, rewind } from "./rewind.ts";
export {
  artifactsDir,
  capsuleDir,
  openCapsule,
  type Room,
  readConfig,
  scratchDir,
} from "./room.ts";
export { bringHome, lacksHome, sessionHomeDir } from "./session-home.ts";
export { directoryMissing } from "./start-directory.ts";
export { cleanBase, commitBelow } from "./starting-point.ts";
export { type BesideOptions, Task, type TaskEnd, type TaskOptions, type TurnEnd } from "./task.ts";
export { type Receipt, type Restored, restore, type TeardownOptions, tearDown } from "./teardown.ts";
export { requireValues, valuesFor } from "./values.ts";
export { inheritWithheld, readWithheld, type Withheld } from "./withheld.ts";
export { workNow } from "./work-now.ts";
