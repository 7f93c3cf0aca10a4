/**
 * Owns the removal of a session, whatever the reason: a rename, after which the session is gone, and then the
 * deletion of what it had elsewhere.
 *
 * A crash before the rename leaves the whole session. A crash after it leaves data of a session that does not
 * exist, which gc recognizes and clears.
 */
import { join } from "node:path";
import { CapsuleDir, detachCapsule, forgetSession, removeTree } from "../../capsule/index.ts";
import { type FoundSession, type Home, removeIndex } from "../../home/index.ts";
import { acquireOwner } from "../../journal/index.ts";
import { withLine } from "../../line/index.ts";
import { findHomeRuntimeDir, removeRuntimeDir } from "../../mail/index.ts";
import { diskUse } from "../../process/index.ts";
import { capsuleDirsOf } from "../../task/index.ts";
import { sessionsDir, trashDir } from "../../util/index.ts";

type Going = Pick<FoundSession, "id" | "dir">;

/**
 * `admit` is called while the lock is held, and may still refuse. Returns how many bytes were in the
 * session's directory.
 */
export async function discardSession(
  home: Home,
  { id, dir }: Going,
  admit: () => Promise<void>,
): Promise<number> {
  const { disk, clock } = home.io;
  const trashed = join(trashDir(home.dir), `${id}-${clock.nowMs()}`);
  const lock = await acquireOwner(dir);
  try {
    await admit();
    // A crash may have left some of its processes running.
    for (const path of await capsuleDirsOf(dir)) await detachCapsule(new CapsuleDir(path));
    await disk.rename(dir, trashed);
    lock.relocate(trashed);
    await disk.syncDir(sessionsDir(home.dir));
    await disk.syncDir(trashDir(home.dir));
  } finally {
    lock.release();
  }
  await forget(home, id);
  const { bytes } = await diskUse([trashed]);
  await removeTree(trashed);
  return bytes;
}

async function forget(home: Home, id: FoundSession["id"]): Promise<void> {
  // The index is only a cache, and it still has the words of the removed session.
  removeIndex(home);
  await withLine(home, async (line) => line.remove(id));
  const runtime = findHomeRuntimeDir(home.dir);
  if (runtime !== undefined) removeRuntimeDir(join(runtime, id.slice("sess_".length)));
  await forgetSession(home, id);
}
