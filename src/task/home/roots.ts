/**
 * Owns the roots of a checkpoint: the directories beside the capsule that are saved with its files. Each has
 * a list of what is left out, and a limit. HOME is the only one so far.
 */
import { openStore, type RootRequest, takeRootSnapshot } from "../../capsule/index.ts";
import { present } from "../../util/index.ts";
import type { Room } from "../room/room.ts";

export interface Root extends Pick<RootRequest, "dir" | "maxBytes" | "maxEntries" | "isLeft" | "before"> {
  /** Its field in `snapshot_taken`. */
  readonly name: "home";
}

/** In the form of the record. Without a snapshot, the root was empty. */
type RootTaken = {
  readonly snapshot?: string;
  readonly manifest?: string;
  /** The number of files beyond a limit that are not in the snapshot. */
  readonly omitted?: number;
};

/** Snapshots all roots at the same moment: no process may write to them meanwhile. */
export async function snapshotRoots(
  { session, repo, io }: Room,
  name: string,
  roots: readonly Root[],
): Promise<Partial<Record<Root["name"], RootTaken>>> {
  const store = await openStore(repo, io.disk);
  const taken: Partial<Record<Root["name"], RootTaken>> = {};
  for (const root of roots) {
    const { named, omitted } = await takeRootSnapshot({
      ...root,
      store,
      session: session.id,
      name: `${name}.${root.name}`,
      atMs: io.clock.nowMs(),
      onProgress: io.onProgress,
    });
    taken[root.name] = present({
      snapshot: named?.commit,
      manifest: named?.manifest,
      omitted: omitted > 0 ? omitted : undefined,
    });
  }
  return taken;
}
