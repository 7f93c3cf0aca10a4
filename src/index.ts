/**
 * The library. `openHoldfast` is the door; the rest are the types of what stands behind it.
 */
export {
  type Appended,
  type Budget,
  type ErrorCode,
  type EventData,
  type EventType,
  HoldfastError,
  isHoldfastError,
  type JournalRecord,
  type Json,
  type JsonObject,
  type SessionId,
  type TaskSpec,
  type Usage,
} from "./contract/index.ts";
export {
  Dispatcher,
  type Happening,
  type SessionView,
  type StopOptions,
  type SubmitOptions,
} from "./dispatch/index.ts";
export {
  type Audit,
  type Diff,
  type Exported,
  type ExportManifest,
  type Finding,
  type ForkOptions,
  type GcResult,
  Holdfast,
  type HoldfastOptions,
  type ImportOptions,
  type NewSession,
  openHoldfast,
  type Repair,
  type ResumeOptions,
  type Retention,
  type SearchHit,
  type SearchOptions,
  type SessionFilter,
  type SessionSummary,
  type ShownStatus,
} from "./home/index.ts";
export type {
  HistoryEntry,
  HistoryTurn,
  PublicEventType,
  Session,
  SessionState,
  SnapshotState,
  TaskState,
  ToolCall,
  Turn,
} from "./session/index.ts";
export type {
  Branched,
  BranchOptions,
  HandOff,
  Receipt,
  Restored,
  Returned,
  Rewound,
  TakeBackOptions,
  Task,
  TaskEnd,
  TaskOptions,
  TeardownOptions,
  TurnEnd,
} from "./task/index.ts";
export type { Clock, Disk, DiskFile } from "./util/index.ts";
