/**
 * Owns the lane of a task that is continued after a crash or a pause, or by a harness: the lane in its
 * record, with the hosts that a person allowed since. It is not resolved again. A file that was changed or
 * accepted meanwhile must not widen a running task, and what a person allowed holds until the task ends.
 */
import { type Lane, resolveLane } from "../../lane/index.ts";
import { readConfig } from "./config.ts";
import type { Room } from "./room.ts";

export async function laneOf(room: Room, base: string | null): Promise<Lane> {
  // Without a record, an earlier version or another machine began the task: it gets the default lane.
  return room.session.state.task?.lane ?? resolveLane(await readConfig(room, base), {});
}
