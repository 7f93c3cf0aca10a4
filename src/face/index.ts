export { type AgentOptions, chooseAgent, listAgents } from "./agent-choice.ts";
export { type ConversationForms, conversationForms } from "./conversation.ts";
export {
  answerForm,
  beginForm,
  branchForm,
  budgetForm,
  cancelForm,
  denyForm,
  forkForm,
  grantForm,
  handOffForm,
  keepForm,
  limitsForm,
  mergeForm,
  messageForm,
  newSessionForm,
  noFields,
  parseForm,
  rebaseForm,
  rewindForm,
  takeBackForm,
  taskForm,
  teardownForm,
} from "./forms.ts";
export {
  type Holdfast,
  type HoldfastOptions,
  type HomeLimits,
  holdfastOf,
  type OpenOptions,
  openHoldfast,
  type ResumeOptions,
  type SessionFilter,
} from "./holdfast.ts";
export { type HomeEvent, HomeStream } from "./home-stream.ts";
export type { OwnOutcome, OwnTask, TurnResult } from "./own-task.ts";
export type { OwnEventType, OwnedSession, OwnTaskOptions } from "./owned-session.ts";
export type { RecordOf, SessionRecord } from "./records.ts";
export type {
  Audit,
  AuditFinding,
  Branched,
  Diff,
  Exported,
  Finding,
  Freed,
  HandOff,
  Merged,
  OutputPart,
  Rebased,
  Returned,
  Sent,
  TaskResult,
  TornDown,
  Waited as WaitResult,
  WatchEvent,
} from "./results.ts";
export { sendAndWake } from "./sending.ts";
export type { SessionHandle } from "./session.ts";
export type { SessionWork } from "./session-work.ts";
export {
  type CommandEnding,
  endingText,
  statusOfCommand,
  statusOfOutcome,
  statusOfPark,
} from "./task-outcome.ts";
export type { TaskRequest } from "./task-request.ts";
export type {
  Artifact,
  ChangeSize,
  CheckReceipt,
  Checks,
  CurrentTask,
  Expense,
  PersonRequest,
  Queue,
  SessionView,
  Spent,
  TaskView,
  WaitingTask,
} from "./views.ts";
export { type Waited, waitFor } from "./waiting.ts";
export { wake } from "./waking.ts";
