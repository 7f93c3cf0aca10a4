/**
 * Owns the question what may be cleared in a home. Each part lists its own: what was left behind when something was
 * killed, and what of its caches may go. `doctor` shows it, `gc` clears it. Nothing that a session still needs is ever
 * in the list.
 */
import { type CapsuleOwner, capsuleLeftovers } from "../../capsule/index.ts";
import type { SessionId } from "../../contract/index.ts";
import { type Home, homeLeftovers, listSessionIds, sessionDirOf } from "../../home/index.ts";
import { probeOwner } from "../../journal/index.ts";
import { taskCapsules } from "../../task/index.ts";
import type { Leftover } from "../../util/index.ts";

/** Whatever makes capsules is here, or what they stand on is collected under them (K11). */
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
