/**
 * Owns the sandbox of a task: resolved once, from the repo, the user's settings and the task's share of the machine.
 */
import { cgroupOfTasks, sandboxAround } from "../../capsule/index.ts";
import type { LaneInForce } from "../../lane/index.ts";
import { findHomeRuntimeDir } from "../../mail/index.ts";
import { assertSandbox, findTools, type Sandbox, type Tools, userHome } from "../../process/index.ts";
import { cgroupLimits, kernelLimits, type Quota, readSettings } from "./quota.ts";
import type { Room } from "./room.ts";

/** Fails where none can be made. */
export async function sandboxOf(
  { io, repo, session }: Room,
  { quota, lane }: { readonly quota: Quota; readonly lane: LaneInForce },
): Promise<Sandbox> {
  assertSandbox();
  const around = sandboxAround(io.homeDir, repo, session.id);
  const tools = await toolsOf(io.homeDir, around.at);
  const cgroup = { name: cgroupOfTasks(repo, session.id), limits: cgroupLimits(quota) };
  const limits = kernelLimits(quota, around.user);
  return { ...around, tools, isReadOnly: lane.isReadOnly, limits, cgroup };
}

/** What tasks of a home see of the user's tools, and of what the user names in `sandbox.read`. */
export async function toolsOf(homeDir: string, checkout?: string): Promise<Tools> {
  const runtime = findHomeRuntimeDir(homeDir);
  const apart = runtime === undefined ? [homeDir] : [homeDir, runtime];
  const { read } = (await readSettings(homeDir)).sandbox;
  return findTools({ env: process.env, userHome: userHome(), read, apart, checkout });
}
