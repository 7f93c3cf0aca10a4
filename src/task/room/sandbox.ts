/**
 * Owns the sandbox of a task: resolved once, from the repo, the user's settings and the task's share of the machine.
 */
import { sandboxAround } from "../../capsule/index.ts";
import type { LaneInForce } from "../../lane/index.ts";
import { findHomeRuntimeDir } from "../../mail/index.ts";
import { assertSandbox, findTools, type Sandbox, userHome } from "../../process/index.ts";
import { kernelLimits, type Quota } from "./quota.ts";
import type { Room } from "./room.ts";

/** Fails where none can be made. */
export async function sandboxOf(
  { io, repo }: Pick<Room, "io" | "repo">,
  { quota, lane }: { readonly quota: Quota; readonly lane: LaneInForce },
): Promise<Sandbox> {
  assertSandbox();
  const around = sandboxAround(io.homeDir, repo);
  const runtime = findHomeRuntimeDir(io.homeDir);
  const apart = runtime === undefined ? [io.homeDir] : [io.homeDir, runtime];
  const tools = findTools({ env: process.env, userHome: userHome(), read: [], apart, checkout: around.at });
  return { ...around, tools, isReadOnly: lane.isReadOnly, limits: kernelLimits(quota, around.user) };
}
