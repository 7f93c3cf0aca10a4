/**
 * Owns which keys a session's agent has: those of the environment of the process that starts it or lets it go on. They go
 * to the broker, for that session alone. A session that asks no model brings none, and starts no broker.
 */
import type { SessionId, TaskSpec } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { inspectSession } from "../session/index.ts";
import { firstTaskIn, inboxOf } from "./post.ts";
import { specOf } from "./resuming.ts";

export async function bringKeysFor(home: Home, id: SessionId, spec: TaskSpec): Promise<void> {
  if (asksModels(spec)) await bring(home, id);
}

export async function bringKeysAgain(home: Home, found: FoundSession): Promise<void> {
  if (await hasAgent(home, found)) await bring(home, found.id);
}

/** One that was cut off or waits may have no conversation yet. */
async function hasAgent(home: Home, found: FoundSession): Promise<boolean> {
  const { conversation, task, queue } = (await inspectSession(found.dir)).state;
  if (conversation || asksModels(await firstTaskIn(inboxOf(home, found.dir)))) return true;
  const open = task?.outcome === null && task.request ? [task.request] : [];
  for (const request of [...open, ...queue.map((one) => one.request)])
    if (asksModels(await specOf(found, request))) return true;
  return false;
}

const asksModels = (spec: TaskSpec | undefined) => spec !== undefined && spec.agent.adapter !== "exec";

/** Loaded when it is needed: most tasks ask no model. */
async function bring(home: Home, id: SessionId): Promise<void> {
  const { bringKeys } = await import("../broker/index.ts");
  await bringKeys(home, id, process.env);
}
