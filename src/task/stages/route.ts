/**
 * Owns the first stage: what a task begins with, under which settings, and whether it may begin at all.
 *
 * What a kill leaves: nothing of this task. There may be one more checkpoint of the previous task's files.
 * The task begins here again.
 */
import { type CapsuleSettings, userIdentity } from "../../capsule/index.ts";
import { readSettings } from "../../home/index.ts";
import { type Lane, type LaneChoice, resolveLane, type Widening } from "../../lane/index.ts";
import type { Sandbox } from "../../process/index.ts";
import { budgetReached, reachedLimits } from "../../session/index.ts";
import { settleLast } from "../files/begin.ts";
import { type StartingOptions, type StartingPoint, startingPoint } from "../files/starting-point.ts";
import type { Ahead } from "../room/ahead.ts";
import { readJudged } from "../room/config.ts";
import { type Quota, quotaOf } from "../room/quota.ts";
import { nextNumber, type Room, settingsOf } from "../room/room.ts";
import { assertSandbox, sandboxOf } from "../room/sandbox.ts";

export interface Route {
  readonly number: number;
  readonly from: StartingPoint;
  readonly settings: CapsuleSettings;
  readonly quota: Quota;
  /** Undefined: the task runs without a sandbox. */
  readonly sandbox: Sandbox | undefined;
  /** What was already begun for it. */
  readonly ahead: Ahead | undefined;
  readonly lane: Lane;
  /** What the repo's file asks for beyond the lane and no person has accepted. */
  readonly notAccepted: readonly Widening[];
  /** Measured by the monotonic clock. */
  readonly startedMs: number;
}

export interface RouteOptions extends StartingOptions, LaneChoice {
  readonly sandbox?: boolean;
  readonly ahead?: Ahead | undefined;
}

export async function findRoute(room: Room, options: RouteOptions): Promise<Route> {
  const { session, io } = room;
  const { ahead } = options;
  const isSandboxed = options.sandbox ?? true;
  if (isSandboxed) await assertSandbox(io.homeDir);
  const limits = reachedLimits(session.state);
  if (limits.length > 0) throw budgetReached(limits);
  await settleLast(room);
  // Its capsule needs the identity; git looks it up while other things are prepared.
  userIdentity(room.repo).catch(() => {});
  const startedMs = io.clock.monotonicMs();
  const from = await startingPoint(room.repo, session.state, options);
  const { config, missed } = await readJudged(room, from.base);
  const lane = resolveLane(config, options);
  // Ports that lead in to a task are leased with its files. Its network waits for them.
  if (config.capsule.ports.length === 0) await ahead?.openNetwork(lane);
  const own = await readSettings(io.homeDir);
  const quota = quotaOf(config.quota, own);
  return {
    number: nextNumber(session),
    from,
    settings: settingsOf(config, own),
    quota,
    sandbox: isSandboxed ? await sandboxOf(room, { quota, lane }) : undefined,
    ahead,
    lane,
    notAccepted: missed(options),
    startedMs,
  };
}
