export type {
  Adapter,
  AgentEnd,
  AgentProcess,
  AgentTurn,
  Conversation,
  CutCall,
  GateAccess,
  GateAnswer,
  GateCall,
  HomeFile,
  Message,
  Messages,
  ModelAccess,
  OutputStream,
  ProcessEnd,
  ProcessOptions,
  SettledCall,
  ToolClasses,
  ToolGate,
  Workplace,
} from "./adapter.ts";
export { adapterOf, assertScript } from "./adapters.ts";
export { exec } from "./exec.ts";
export { assertHeld } from "./holding.ts";
export { assertSpoken, type KnownAgent, knownAgent, knownAgents } from "./known.ts";
export { type Capability, capabilities, type Manifest, manifestOf } from "./manifest.ts";
export { versionOf } from "./version.ts";
