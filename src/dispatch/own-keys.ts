/**
 * Owns which keys a session's agent has: those of the environment of the process that starts it or lets it go on. They go
 * to the broker, for that session alone. A session that asks no model brings none, and starts no broker.
 */
import type { SessionId, TaskSpec } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { inspectSession } from "../session/index.ts";

export async function bringKeysFor(home: Home, id: SessionId, { agent }: TaskSpec): Promise<void> {
  if (agent.adapter !== "exec") await bring(home, id);
}

export async function bringKeysAgain(home: Home, { id, dir }: FoundSession): Promise<void> {
  const { state } = await inspectSession(dir);
  if (state.conversation) await bring(home, id);
}

/** Loaded when it is needed: most tasks ask no model. */
async function bring(home: Home, id: SessionId): Promise<void> {
  const { bringKeys } = await import("../broker/index.ts");
  await bringKeys(home, id, process.env);
}
