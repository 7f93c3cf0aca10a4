export { type AgentOptions, chooseAgent, listAgents } from "./agent-choice.ts";
export {
  answerForm,
  beginForm,
  branchForm,
  budgetForm,
  cancelForm,
  denyForm,
  forkForm,
  grantForm,
  mergeForm,
  messageForm,
  newSessionForm,
  noFields,
  parseForm,
  rebaseForm,
  rewindForm,
  type TaskRequest,
  taskForm,
  teardownForm,
} from "./forms.ts";
export {
  type Holdfast,
  type HoldfastOptions,
  type HomeEvent,
  type HomeLimits,
  holdfastOf,
  type OpenOptions,
  openHoldfast,
  type ResumeOptions,
  type SessionFilter,
} from "./holdfast.ts";
export type { OwnOutcome, OwnTask, TurnResult } from "./own-task.ts";
export type { OwnEventType, OwnedSession, OwnTaskOptions } from "./owned-session.ts";
export type { RecordOf, SessionRecord } from "./records.ts";
export type {
  Audit,
  AuditFinding,
  Branched,
  ChangeSize,
  CheckReceipt,
  Checks,
  Diff,
  Expense,
  Exported,
  Finding,
  Freed,
  HandOff,
  Merged,
  OutputPart,
  PersonRequest,
  Queue,
  Rebased,
  Receipt,
  Returned,
  Sent,
  SessionView,
  Spent,
  TaskResult,
  TaskView,
  Waited as WaitResult,
  WaitingTask,
  WatchEvent,
} from "./results.ts";
export type { Artifact, ConversationForms, SessionHandle } from "./session.ts";
export type { SessionWork } from "./session-work.ts";
export {
  type CommandEnding,
  endingText,
  statusOfCommand,
  statusOfOutcome,
  statusOfPark,
} from "./task-outcome.ts";
export { type Waited, waitFor } from "./waiting.ts";
