/**
 * Owns the list of what a kill can leave behind in a home: sockets, and directories of probes of the machine.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../capsule/index.ts";
import { isSessionId } from "../contract/index.ts";
import { acquireOwner, probeOwner } from "../journal/index.ts";
import { findHomeRuntimeDir, removeRuntimeDir } from "../mail/index.ts";
import { endMarked } from "../process/index.ts";
import { ABANDONED_MS, type Leftover, TEMPORARY_PREFIX } from "../util/index.ts";
import { type Home, sessionDirOf } from "./home.ts";

export async function homeLeftovers(home: Home): Promise<Leftover[]> {
  return [...sockets(home), ...(await temporaries(home))];
}

/** What killed session processes left: their sockets, and the copy of a token. */
function sockets(home: Home): Leftover[] {
  const runtime = findHomeRuntimeDir(home.dir);
  if (runtime === undefined) return [];
  return readdirSync(runtime)
    .map((name) => `sess_${name}`)
    .filter(isSessionId)
    .filter((id) => !probeOwner(sessionDirOf(home, id)).held)
    .map((id) => {
      const what = join(runtime, id.slice("sess_".length));
      const clear = async () => {
        // A removed session has no lock.
        const lock = existsSync(sessionDirOf(home, id))
          ? await acquireOwner(sessionDirOf(home, id))
          : undefined;
        try {
          removeRuntimeDir(what);
        } finally {
          lock?.release();
        }
      };
      return { what, why: "holds sockets of a process that ended", isCache: false, clear };
    });
}

/**
 * What an interrupted probe of the machine left: its directory, and a process that may hold a mount in it.
 */
async function temporaries(home: Home): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const name of (await readdir(home.dir)).filter((one) => one.startsWith(TEMPORARY_PREFIX))) {
    const path = join(home.dir, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats || home.io.clock.nowMs() - stats.mtimeMs < ABANDONED_MS) continue;
    const clear = async () => {
      await endMarked(path);
      await removeTree(path);
    };
    found.push({ what: path, why: "left by a process that ended", isCache: false, paths: [path], clear });
  }
  return found;
}
