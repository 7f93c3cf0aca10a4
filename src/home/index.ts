export { layBallast } from "./ballast.ts";
export { Feed } from "./feed.ts";
export {
  type FoundSession,
  findSession,
  inspectIn,
  listSessionIds,
  listSessionIdsNow,
  notFound,
} from "./finding.ts";
export { type ForkOptions, forkAt, forkPoint } from "./forking.ts";
export { defaultHomeDir, defaultUser, type Home, sessionDirOf } from "./home.ts";
export { removeIndex } from "./index-db.ts";
export { inspectAll } from "./inspected-rows.ts";
export { homeLeftovers } from "./leftovers.ts";
export {
  listSessions,
  type SearchOptions,
  type SessionFilter,
  type ShowOptions,
  searchSessions,
  showSession,
} from "./list.ts";
export { type Claim, claimName } from "./names.ts";
export { type HoldfastOptions, openHome } from "./open.ts";
export { NEW_SESSION, type NewSession, openSession } from "./opening.ts";
export { asFailure } from "./preparing.ts";
export { assertPrivate } from "./private.ts";
export {
  type ProcessRecord,
  readProcessRecord,
  removeProcessRecord,
  writeProcessRecord,
} from "./process-record.ts";
export { capsuleIo, repoOf, repoPathOf, resolveRepo } from "./repos.ts";
export { type Meant, resolveSession, type Whereabouts } from "./resolve.ts";
export { keepSession, type ResumeOptions, resumeSession, takeUpSession } from "./resuming.ts";
export { sessionLeftovers, unbornSessions } from "./session-leftovers.ts";
export { readSettings } from "./settings.ts";
export { abandonedStages, stageSession } from "./staging.ts";
export type { SessionSummary } from "./status.ts";
export { findStore, PackChecks } from "./stores.ts";
export type { SearchHit } from "./text-index.ts";
export { makeToken, readToken, revokeToken, rotateToken } from "./token.ts";
