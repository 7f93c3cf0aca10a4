/**
 * Owns which lane a task is in that is taken up again, after a crash, a pause or by a harness: the one that its record
 * has, with the hosts that a person allowed it since. It is not found anew: a file that was changed or accepted
 * meanwhile must not widen a task that runs, and what a person allowed it holds until it ends.
 */
import { type LaneInForce, resolveLane } from "../../lane/index.ts";
import { readConfig } from "./config.ts";
import type { Room } from "./room.ts";

export async function laneOf(room: Room, base: string | null): Promise<LaneInForce> {
  // Without a record of it, it was begun by an earlier version or elsewhere: it has what a task gets by itself.
  return room.session.state.task?.lane ?? resolveLane(await readConfig(room, base), {});
}
