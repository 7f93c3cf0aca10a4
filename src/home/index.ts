export type { Archived } from "./archive.ts";
export type { FullAudit as Audit } from "./audit-kept.ts";
export { layBallast } from "./ballast.ts";
export type { Diff, DiffOptions } from "./diff.ts";
export type { SessionDiskUse } from "./disk.ts";
export type { Finding } from "./doctor.ts";
export type { Exported, ExportManifest } from "./export.ts";
export type { GcResult, Retention } from "./gc.ts";
export { Holdfast, openHoldfast } from "./holdfast.ts";
export {
  asFailure,
  defaultHomeDir,
  defaultUser,
  type FoundSession,
  findSession,
  type Home,
  listSessionIds,
  listSessionIdsNow,
  sessionDirOf,
  stagingDir,
} from "./home.ts";
export type { ImportOptions } from "./import.ts";
export type { SearchHit } from "./index-db.ts";
export {
  type ForkOptions,
  type NewSession,
  openSession,
  type ResumeOptions,
  resumeSession,
} from "./lifecycle.ts";
export { myself, type Place, readPlace, withLine } from "./line.ts";
export type { SearchOptions, SessionFilter } from "./list.ts";
export { type HoldfastOptions, openHome } from "./open.ts";
export type { Removal, RemovalOptions } from "./removal.ts";
export type { Repair } from "./repair.ts";
export { locateDamage } from "./snapshot-damage.ts";
export { addPeak, readPeaks } from "./stats.ts";
export type { SessionSummary, ShownStatus } from "./status.ts";
export { bringFiles, keeperOf, repoPathOf, restFiles, roomOf } from "./tasks.ts";
export { isSameToken, makeToken, revokeToken, rotateToken } from "./token.ts";
