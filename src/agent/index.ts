export type {
  Adapter,
  AgentEnd,
  AgentProcess,
  AgentTurn,
  Message,
  Messages,
  OutputStream,
  ProcessEnd,
  ProcessOptions,
  Workplace,
} from "./adapter.ts";
export { adapterOf } from "./adapters.ts";
export { exec } from "./exec.ts";
