export { Excerpt } from "./excerpt.ts";
export { type CachedFold, FOLD_FILE, readFold } from "./fold-cache.ts";
export { type HistoryEntry, type HistoryTurn, historyOf } from "./history.ts";
export { type Inspected, inspectSession } from "./inspect.ts";
export { nextStatus, type StoredStatus, working } from "./lifecycle.ts";
export {
  emptyState,
  fold,
  MACHINE_VERSION,
  MAX_ARRIVED,
  reachedLimits,
  refusal,
  type SessionState,
  type SnapshotState,
  type Spent,
  type TaskState,
  textIn,
} from "./machine.ts";
export { encodeManifest, MANIFEST_FILE, type Manifest, readManifest } from "./manifest.ts";
export { followRecords, readRecords } from "./records.ts";
export {
  assertRaised,
  budgetReached,
  type OpenSessionOptions,
  type PublicEventType,
  Session,
} from "./session.ts";
export type { ToolCall, Turn } from "./turn.ts";
