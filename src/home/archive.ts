/**
 * Owns archiving: a session that is over is checked, marked, and compressed. It stays readable, and `resume`
 * opens it again.
 *
 * Steps and what a crash after each leaves: the record `session_archived` (archived, not yet compressed: gc
 * finishes); some files compressed (each is there in one form at least: gc finishes).
 */
import { existsSync } from "node:fs";
import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { acquireOwner, blobsDir, compressJournal, damaged, journalDir, listBlobs } from "../journal/index.ts";
import { inspectSession, nextStatus, Session } from "../session/index.ts";
import { auditSession } from "./audit.ts";
import type { FoundSession, Home } from "./home.ts";

export async function archiveSession(home: Home, { id, dir }: FoundSession): Promise<void> {
  const audit = await auditSession(dir);
  const [damage] = audit.findings;
  if (damage) throw damaged(damage);
  const session = await Session.own({
    sessionDir: dir,
    id,
    ports: home.ports,
    admit: ({ status }) => {
      if (nextStatus(status, "session_archived") !== undefined) return;
      if (status === "archived")
        throw new HoldfastError("illegal_transition", "the session is archived already", { status });
      throw new HoldfastError(
        "illegal_transition",
        `a session that is ${status} can't be archived: close it first`,
        { status },
      );
    },
  });
  try {
    await session.append("session_archived", {});
  } finally {
    await session.release();
  }
  await compressArchived(home, dir, audit.goodBlobs);
}

/** Under the lock, and only if it is still archived: nobody may be writing what is compressed. */
export async function compressArchived(
  home: Home,
  dir: string,
  namedBlobs?: ReadonlySet<string>,
): Promise<void> {
  const lock = await acquireOwner(dir);
  try {
    if ((await inspectSession(dir)).state.status !== "archived") return;
    const named = namedBlobs ?? (await auditSession(dir)).goodBlobs;
    for (const blob of await listBlobs(dir)) {
      // Stored for a record that a crash prevented: nothing names it.
      if (!named.has(blob) && existsSync(join(blobsDir(dir), blob))) await unlink(join(blobsDir(dir), blob));
    }
    await compressJournal(home.ports.disk, dir);
  } finally {
    lock.release();
  }
}

/** An archive that a crash left half compressed. */
export async function isPartlyCompressed(dir: string): Promise<boolean> {
  const segments = (await readdir(journalDir(dir))).filter((name) => name.endsWith(".jsonl"));
  const blobs = (await readdir(blobsDir(dir))).filter((name) => /^[0-9a-f]{64}$/.test(name));
  return segments.length + blobs.length > 0;
}
