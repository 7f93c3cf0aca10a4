/**
 * The library. `openHoldfast` is the door; the rest are the types of what stands behind it.
 */
export type {
  Adapter,
  AgentEnd,
  AgentProcess,
  AgentTurn,
  Message,
  Messages,
  ProcessEnd,
  ProcessOptions,
  Workplace,
} from "./agent/index.ts";
export {
  type AgentSpec,
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
  type Parked,
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
export type {
  ForkOptions,
  HoldfastOptions,
  NewSession,
  ResumeOptions,
  SearchHit,
  SearchOptions,
  SessionFilter,
  SessionSummary,
  ShownStatus,
} from "./home/index.ts";
export { Holdfast, openHoldfast } from "./library/index.ts";
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
  ConflictsIn,
  Diff,
  DiffOptions,
  HandOff,
  MergedWork,
  MergeOptions,
  Rebased,
  RebaseOptions,
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
export type {
  Archived,
  Audit,
  Exported,
  ExportManifest,
  Finding,
  GcResult,
  ImportOptions,
  Removal,
  RemovalOptions,
  Repair,
  Retention,
  SessionDiskUse,
} from "./upkeep/index.ts";
export type { Clock, Disk, DiskFile, OnProgress, Progress } from "./util/index.ts";
