/**
 * Owns the first stage: what a task begins with, under which settings, and whether it may begin at all.
 *
 * What a kill leaves: nothing of the task. The last task's files may have a checkpoint more. It begins here again.
 */
import type { CapsuleSettings } from "../../capsule/index.ts";
import { assertSandbox, type Sandbox } from "../../process/index.ts";
import { budgetReached, reachedLimits } from "../../session/index.ts";
import { settleLast } from "../files/begin.ts";
import { type StartingOptions, type StartingPoint, startingPoint } from "../files/starting-point.ts";
import { quotaOf, readSettings } from "../room/quota.ts";
import { type Room, readConfig, settingsOf } from "../room/room.ts";
import { sandboxOf } from "../room/sandbox.ts";

export interface Route {
  readonly number: number;
  readonly from: StartingPoint;
  readonly settings: CapsuleSettings;
  /** Undefined: without one. */
  readonly sandbox: Sandbox | undefined;
  /** By a clock that does not jump. */
  readonly startedMs: number;
}

export async function findRoute(
  room: Room,
  options: StartingOptions & { readonly sandbox?: boolean },
): Promise<Route> {
  const { session, repo, io } = room;
  const isSandboxed = options.sandbox ?? true;
  if (isSandboxed) assertSandbox();
  const limits = reachedLimits(session.state);
  if (limits.length > 0) throw budgetReached(limits);
  await settleLast(room);
  const startedMs = io.clock.monotonicMs();
  const from = await startingPoint(room, options);
  const config = await readConfig(repo, from.base);
  const own = await readSettings(io.homeDir);
  const number = (session.state.task?.number ?? 0) + 1;
  const quota = quotaOf(config.quota, own);
  return {
    number,
    from,
    settings: settingsOf(config, own),
    sandbox: isSandboxed ? await sandboxOf(room, quota) : undefined,
    startedMs,
  };
}
