/**
 * Owns the answer to which capsules the tasks of a home have: one at most in each task's directory, in the custody of
 * whoever has the session's lock.
 */
import { sep } from "node:path";
import { type CapsuleOwner, type Custody, findCapsule, type OwnedCapsule } from "../../capsule/index.ts";
import { isSessionId, type SessionId } from "../../contract/index.ts";
import { type Home, listSessionIds, sessionDirOf } from "../../home/index.ts";
import { acquireOwner, probeOwner } from "../../journal/index.ts";
import { sessionsDir } from "../../util/index.ts";
import { capsuleDirsOf, isForChecks } from "./task-dirs.ts";

export function taskCapsules(home: Home): CapsuleOwner {
  return {
    list: async () => {
      const found: OwnedCapsule[] = [];
      for (const id of await listSessionIds(home)) {
        const dir = sessionDirOf(home, id);
        for (const path of await capsuleDirsOf(dir)) {
          const capsule = await findCapsule(path);
          if (capsule) found.push({ ...capsule, custody: custodyOf(home, id), isPassing: isForChecks(path) });
        }
      }
      return found;
    },
    custodyOf: (dir) => {
      if (!dir.startsWith(sessionsDir(home.dir) + sep)) return undefined;
      const id = dir.slice(sessionsDir(home.dir).length + 1).split(sep)[0] ?? "";
      return isSessionId(id) ? custodyOf(home, id) : undefined;
    },
  };
}

function custodyOf(home: Home, id: SessionId): Custody {
  const dir = sessionDirOf(home, id);
  return {
    get isBusy() {
      return probeOwner(dir).held;
    },
    alone: async (work) => {
      const lock = await acquireOwner(dir);
      try {
        await work();
      } finally {
        lock.release();
      }
    },
  };
}
