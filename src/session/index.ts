export {
  assertRaised,
  type BudgetLeft,
  budgetReached,
  raisedBy,
  reachedLimits,
  spentBy,
  usedOf,
} from "./budget.ts";
export {
  type AnswerMessage,
  conversationOf,
  type ModelMessage,
  type ResultsMessage,
  type SpokenMessage,
} from "./conversation.ts";
export {
  type AiSdkAnswerPart,
  type AiSdkMessage,
  type AiSdkResultPart,
  type AnthropicBlock,
  type AnthropicConversation,
  aiSdkForm,
  anthropicForm,
  type OpenAiMessage,
  openAiForm,
} from "./conversation-forms.ts";
export {
  type Environment,
  KnownSecrets,
  oldEnvironments,
  readEnvironment,
  removeEnvironment,
  removeOldEnvironments,
  secretsOf,
  writeEnvironment,
} from "./environment.ts";
export { Excerpt, notKept } from "./excerpt.ts";
export { amountIn, textIn } from "./fold/fields.ts";
export { MAX_ARRIVED } from "./fold/mail.ts";
export { isWaiting } from "./fold/requests.ts";
export { type CachedFold, readFold } from "./fold-cache.ts";
export { type HistoryEntry, type HistoryTurn, historyOf } from "./history.ts";
export { type Inspected, inspectSession, stateOfTask } from "./inspect.ts";
export { nextStatus, type StoredStatus, working } from "./lifecycle.ts";
export { fold, MACHINE_VERSION } from "./machine.ts";
export { encodeManifest, type Manifest, readManifest } from "./manifest.ts";
export {
  type FollowOptions,
  findLastRecord,
  followRecords,
  type ReadOptions,
  readRecords,
} from "./records.ts";
export { type OpenSessionOptions, Session } from "./session.ts";
export { emptyState, lastTurnOf, type SessionState, type Spent, tokensIn } from "./state.ts";
export {
  type HomeState,
  type LaneState,
  type ParkedState,
  SECRET_IN_WORK,
  type SnapshotState,
  standsOn,
  type TaskState,
} from "./task-state.ts";
export type { RequestUsage, ToolCall, Turn } from "./turn.ts";
export { expensesIn } from "./usage.ts";
export { verifySession } from "./verify.ts";
export {
  drivenTask,
  hasActed,
  isTaskOver,
  requestsDue,
  taskUnderWay,
  type WorkDue,
  workDue,
} from "./work-due.ts";
