/**
 * Owns making and removing the place in which a tool acts: `tasks/<n>/acting/`. A task has one action at a
 * time. What a kill left is removed by the next action, or by gc.
 *
 * worker-7 A tool sees exactly the tree that was approved: a capsule of that tree alone, or a gitdir of
 *    Holdfast's with a commit of it. What the agent writes meanwhile is elsewhere.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CapsuleDir, clearUnfinished, giveTo } from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import { readSettings } from "../home/index.ts";
import type { Sandbox } from "../process/index.ts";
import {
  checkLane,
  hasWorker,
  makeExactFiles,
  readConfig,
  readQuota,
  sandboxOf,
  settingsOf,
  type TaskInHand,
} from "../task/index.ts";
import { actingDir } from "../util/index.ts";
import { GROUND_DIRS, type Ground } from "./order.ts";

/**
 * The sandbox in which a tool runs and its program is looked for. Its quota is separate from that of the
 * task's processes.
 */
export async function sandboxFor({ room, base }: TaskInHand, hosts: readonly string[]): Promise<Sandbox> {
  const quota = await readQuota(room, base);
  const sandbox = await sandboxOf(room, { quota, lane: { ...checkLane, hosts } });
  return { ...sandbox, cgroup: undefined };
}

/** Fails if a worker that an earlier session process started is still acting for this task. */
export function assertNoneActs({ room, number }: TaskInHand): void {
  if (hasWorker(actingDir(room.sessionDir, number)))
    throw new HoldfastError("tool_failed", "another action of this task is still under way: try again later");
}

/** Only while no other action of the task is under way. */
export async function makeGround(
  task: TaskInHand,
  sandbox: Sandbox,
  { tree, signal }: { readonly tree: string | null; readonly signal: AbortSignal },
): Promise<Ground> {
  const scratch = actingDir(task.room.sessionDir, task.number);
  await clearGround(task);
  const view = tree === null ? null : await exactView(task, { tree, signal });
  for (const name of Object.values(GROUND_DIRS)) {
    mkdirSync(join(scratch, name), { recursive: true, mode: 0o700 });
    giveTo(sandbox.user, join(scratch, name));
  }
  return { sandbox, scratch, view, pushed: null };
}

export async function clearGround({ room, number }: TaskInHand): Promise<void> {
  await clearUnfinished(new CapsuleDir(actingDir(room.sessionDir, number)));
}

async function exactView(
  { room, base }: TaskInHand,
  { tree, signal }: { readonly tree: string; readonly signal: AbortSignal },
): Promise<Ground["view"]> {
  const config = await readConfig(room, base);
  const settings = settingsOf(config, await readSettings(room.io.homeDir));
  const { capsule } = await makeExactFiles(room, {
    tree,
    base,
    // Leased ports lead in to the task, and included files are not part of the tree.
    settings: { ...settings, ports: [], include: [] },
    quota: await readQuota(room, base),
    isSandboxed: true,
    signal,
    isForAction: true,
  });
  return capsule.attach();
}
