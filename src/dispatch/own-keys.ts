/**
 * Owns what a session's agent and tools get from the environment of the process that starts the session or
 * lets it go on: keys to models, and the variables that tools and MCP servers of the repo's file name, as far
 * as a person has accepted them. They go to the broker, for that session alone. A session that needs none of
 * this brings nothing, and starts no broker.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openRepo } from "../capsule/index.ts";
import { CONFIG_FILE } from "../config/index.ts";
import type { SessionId, TaskSpec } from "../contract/index.ts";
import { capsuleIo, type FoundSession, type Home, repoPathOf } from "../home/index.ts";
import { inspectSession, type SessionState } from "../session/index.ts";
import { cleanBase, readConfig } from "../task/index.ts";
import { firstTaskIn, inboxOf } from "./post.ts";
import { specOf } from "./resuming.ts";

type Standing = Pick<SessionState, "repo" | "lacksRepo" | "task">;

/** `state`: the session's state before the task. */
export async function bringKeysFor(
  home: Home,
  id: SessionId,
  spec: TaskSpec,
  state: Standing,
): Promise<void> {
  await bring(home, id, asksModels(spec), await toolVariables(home, state, spec.base));
}

export async function bringKeysAgain(home: Home, found: FoundSession): Promise<void> {
  const { state } = await inspectSession(found.dir);
  await bring(home, found.id, await hasAgent(home, found, state), await toolVariables(home, state));
}

/** A task that was cut off or waits may have no conversation yet. */
async function hasAgent(home: Home, found: FoundSession, state: SessionState): Promise<boolean> {
  const { conversation, task, queue } = state;
  if (conversation || asksModels(await firstTaskIn(inboxOf(home, found.dir)))) return true;
  const open = task?.outcome === null && task.request ? [task.request] : [];
  for (const request of [...open, ...queue.map((one) => one.request)])
    if (asksModels(await specOf(found, request))) return true;
  return false;
}

/** Whether its agent uses models. */
export const asksModels = (spec: TaskSpec | undefined) =>
  spec !== undefined && !["exec", "script"].includes(spec.agent.adapter);

/** The variables for tools in the commit that a task begins with, and in the commit of the last task. */
async function toolVariables(home: Home, state: Standing, base?: string): Promise<readonly string[]> {
  const path = repoPathOf(home, state);
  // Most repos have no such file; git is then not asked.
  if (path === null || !mayHaveConfig(path)) return [];
  const repo = await openRepo(home, path);
  const commits = new Set([await cleanBase(repo, base), state.task?.base ?? null]);
  const names = new Set<string>();
  for (const commit of commits) {
    const { tools, mcp } = await readConfig({ io: capsuleIo(home), repo }, commit);
    for (const { env } of [...Object.values(tools), ...Object.values(mcp)])
      for (const name of env) names.add(name);
  }
  return [...names];
}

/** In a bare repo, any commit may have the file. */
const mayHaveConfig = (path: string) =>
  existsSync(join(path, CONFIG_FILE)) || (existsSync(path) && !existsSync(join(path, ".git")));

/** Loaded only when it is needed, because most tasks use no model. */
async function bring(home: Home, id: SessionId, keys: boolean, variables: readonly string[]): Promise<void> {
  if (!keys && variables.length === 0) return;
  const { bringKeys } = await import("../broker/index.ts");
  await bringKeys(home, id, process.env, { keys, variables });
}
