/**
 * Owns the looking at all capsules of a home: which there are, and whether one of them uses something.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type CapsuleSpec, Place, type Repo, repoLock } from "../capsule/index.ts";
import type { SessionId } from "../contract/index.ts";
import { type Home, listSessionIds, sessionDirOf } from "../home/index.ts";
import { withFileLock } from "../util/index.ts";

export interface FoundCapsule {
  readonly id: SessionId;
  readonly place: Place;
  /** Undefined: none was written, or it can't be read. */
  readonly spec: CapsuleSpec | undefined;
  readonly isUnfinished: boolean;
}

export async function listCapsules(home: Home): Promise<FoundCapsule[]> {
  const found: FoundCapsule[] = [];
  for (const id of await listSessionIds(home)) {
    const tasks = join(sessionDirOf(home, id), "tasks");
    for (const task of await readdir(tasks).catch(() => [])) {
      const place = new Place(join(tasks, task, "capsule"));
      if (!existsSync(place.dir)) continue;
      const spec = await place.readSpec().catch(() => undefined);
      found.push({ id, place, spec, isUnfinished: spec ? !spec.isWhole : !existsSync(place.specFile) });
    }
  }
  return found;
}

/** Looked at again under the lock that capsules are made under: one may have begun to use it meanwhile. */
export async function unlessUsed(
  home: Home,
  repo: Repo,
  uses: (spec: CapsuleSpec) => boolean,
  work: () => Promise<void>,
): Promise<void> {
  await withFileLock(repoLock(repo), async () => {
    const isUsed = (await listCapsules(home)).some(({ spec }) => spec?.repo === repo.key && uses(spec));
    if (!isUsed) await work();
  });
}
