/**
 * Owns which capsules the tasks of a home have: at most one in each task's directory, in the custody of the
 * process that has the session's lock.
 */
import { sep } from "node:path";
import { type CapsuleOwner, type Custody, findCapsule, type OwnedCapsule } from "../../capsule/index.ts";
import { isSessionId, type SessionId } from "../../contract/index.ts";
import { type Home, listSessionIds, sessionDirOf } from "../../home/index.ts";
import { acquireOwner, probeOwner } from "../../journal/index.ts";
import { sessionsDir } from "../../util/index.ts";
import { capsuleDirsOf, hasWorker, isForAMoment } from "./task-dirs.ts";

export function taskCapsules(home: Home): CapsuleOwner {
  return {
    list: async () => {
      const found: OwnedCapsule[] = [];
      for (const id of await listSessionIds(home)) {
        const dir = sessionDirOf(home, id);
        for (const path of await capsuleDirsOf(dir)) {
          const capsule = await findCapsule(path);
          if (!capsule) continue;
          const isPassing = isForAMoment(path);
          found.push({ ...capsule, custody: custodyOf(home, id, isPassing ? path : undefined), isPassing });
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

/** `passing`: the capsule that an action's worker may be using, even after its session process has ended. */
function custodyOf(home: Home, id: SessionId, passing?: string): Custody {
  const dir = sessionDirOf(home, id);
  return {
    get isBusy() {
      return probeOwner(dir).held || (passing !== undefined && hasWorker(passing));
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
