/**
 * Owns `doctor --repair`. It never changes a damaged session: the good part becomes a fork, and the damaged
 * session stays where it is, for inspection.
 */
import { unlink } from "node:fs/promises";
import { type FoundSession, forkAt, type Home } from "../../home/index.ts";
import { type Damage, damaged } from "../../journal/index.ts";
import { foldPath, IN_SESSION, present } from "../../util/index.ts";
import { auditJournal } from "./audit-journal.ts";

export interface Repair {
  readonly findings: readonly Damage[];
  /** The new session with the good records; null if only a cache was wrong. */
  readonly session: string | null;
  readonly keptRecords: number;
}

export async function repairSession(home: Home, found: FoundSession): Promise<Repair> {
  const { dir, user } = found;
  const { findings, good, goodBlobs } = await auditJournal(dir);
  const beyondCaches = findings.filter(({ file }) => file !== foldPath(IN_SESSION));
  if (findings.length > beyondCaches.length) await unlink(foldPath(dir));
  if (beyondCaches.length === 0) return { findings, session: null, keptRecords: good.state.seq };
  const first = beyondCaches[0] as Damage;
  // Without its first record a session can't be continued.
  if (good.state.seq === 0) throw damaged(first);
  const fork = await forkAt(
    home,
    found,
    { user, repo: good.state.repo, ...present({ nameFrom: good.state.name ?? undefined }) },
    { cut: { position: good.position, fold: good, blobs: goodBlobs }, stateNow: good.state },
  );
  await fork.release();
  return { findings, session: fork.id, keptRecords: good.state.seq };
}
