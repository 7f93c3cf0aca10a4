/**
 * Owns the list of what may be cleared in a home. Each part contributes its own: what was left behind when a
 * process was killed, and which of its caches may go. `doctor` shows the list, `gc` clears it. It never
 * contains anything that a session still needs.
 */
import { type CapsuleOwner, capsuleLeftovers } from "../../capsule/index.ts";
import type { SessionId } from "../../contract/index.ts";
import { type Home, homeLeftovers, listSessionIds, sessionDirOf } from "../../home/index.ts";
import { probeOwner } from "../../journal/index.ts";
import { taskCapsules } from "../../task/index.ts";
import type { Leftover } from "../../util/index.ts";

/**
 * Every part that makes capsules must be here: the bases of a part that is missing would be collected
 * (base-2).
 */
export const capsuleOwners = (home: Home): CapsuleOwner[] => [taskCapsules(home)];

export async function findLeftovers(
  home: Home,
  owners: readonly CapsuleOwner[] = capsuleOwners(home),
): Promise<Leftover[]> {
  const ids = new Set<string>(await listSessionIds(home));
  const sessions = {
    isThere: (id: string) => ids.has(id),
    isBusy: (id: string) => probeOwner(sessionDirOf(home, id as SessionId)).held,
  };
  return [...(await capsuleLeftovers(home, owners, sessions)), ...(await homeLeftovers(home))];
}
