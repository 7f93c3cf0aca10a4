/**
 * Owns the roots of a checkpoint: directories of a session beside its capsule that are kept with its files, each with
 * what of it is left where it is and how much may be kept. So far there is one, HOME.
 */
import { openStore, type RootRequest, takeRootSnapshot } from "../../capsule/index.ts";
import { present } from "../../util/index.ts";
import type { Room } from "../room/room.ts";

export interface Root extends Pick<RootRequest, "dir" | "maxBytes" | "maxEntries" | "isLeft" | "before"> {
  /** Its field in `snapshot_taken`. */
  readonly name: "home";
}

/** As the record has it; without a snapshot there was nothing in it. */
type RootTaken = {
  readonly snapshot?: string;
  readonly manifest?: string;
  /** Files beyond a limit, which are not in it. */
  readonly omitted?: number;
};

/** Of all roots at the same moment: nothing writes to them meanwhile. */
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
