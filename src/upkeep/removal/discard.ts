/**
 * Owns the going of a session, whoever decided it: a rename, after which it is gone, and then what it had elsewhere.
 *
 * What a crash leaves: before the rename, the session, whole; after it, things of a session that is not there, which gc
 * knows and clears.
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

/** `admit` is called as its owner, and may still refuse. Says how many bytes it had in its directory. */
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
    // A crash may have left some of its processes.
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
  // It still has the words of what is gone, and is only a cache.
  removeIndex(home);
  await withLine(home, async (line) => line.remove(id));
  const runtime = findHomeRuntimeDir(home.dir);
  if (runtime !== undefined) removeRuntimeDir(join(runtime, id.slice("sess_".length)));
  await forgetSession(home, id);
}
