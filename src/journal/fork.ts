/**
 * Owns how another session continues a journal: sealed segments are linked, the tail is copied (journal-6).
 *
 * fork-1 A segment that its owner may still write to is never linked: through a link, the parent's next
 *    append would appear in the child.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { blobsDir, createFile, type Disk, errorCode, journalDir } from "../util/index.ts";
import { listBlobs } from "./blobs.ts";
import type { Position } from "./line.ts";
import { COMPRESSED, listSegments, readMaybeCompressed, segmentName } from "./segments.ts";
import { readWitness } from "./witness.ts";

/**
 * Gives the empty journal in `to` everything of the journal in `from` up to `cut`. The names are synced
 * together with the first segment that `to` writes itself. Every segment before the cut is sealed, because a
 * later one exists. Whether it is whole is left to the reader.
 */
export async function forkSegments(disk: Disk, from: string, to: string, cut: Position): Promise<void> {
  const sealed = (await listSegments(from)).filter((segment) => segment < cut.segment);
  await Promise.all(
    sealed.map((segment) =>
      linkEither(
        disk,
        join(journalDir(from), segmentName(segment)),
        join(journalDir(to), segmentName(segment)),
      ),
    ),
  );
  const name = segmentName(cut.segment);
  if (await isFinished(from, cut)) {
    await linkEither(disk, join(journalDir(from), name), join(journalDir(to), name));
  } else if (cut.segment > 0) {
    const content = await readMaybeCompressed(join(journalDir(from), name));
    await createFile(disk, join(journalDir(to), name), content.subarray(0, cut.bytes));
  }
}

/**
 * Whether the segment's owner let go of it at exactly this position. The next owner then begins a new
 * segment.
 */
async function isFinished(sessionDir: string, cut: Position): Promise<boolean> {
  const witness = await readWitness(sessionDir).catch(() => undefined);
  return (
    witness?.isFinal === true && witness.head.segment === cut.segment && witness.head.bytes === cut.bytes
  );
}

/** Links blobs, which never change: all of them, or those that the child's history names. */
export async function forkBlobs(
  disk: Disk,
  from: string,
  to: string,
  wanted?: ReadonlySet<string>,
): Promise<void> {
  const names = [...(wanted ?? (await listBlobs(from)))];
  await Promise.all(
    names.map((name) => linkEither(disk, join(blobsDir(from), name), join(blobsDir(to), name))),
  );
  if (names.length > 0) await disk.syncDir(blobsDir(to));
}

async function linkEither(disk: Disk, from: string, to: string): Promise<void> {
  try {
    await linkOrCopy(disk, from, to);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    await linkOrCopy(disk, from + COMPRESSED, to + COMPRESSED);
  }
}

async function linkOrCopy(disk: Disk, from: string, to: string): Promise<void> {
  try {
    await disk.link(from, to);
  } catch (error) {
    // Some file systems have no hard links.
    if (!["EPERM", "EMLINK", "ENOTSUP", "EXDEV"].includes(errorCode(error) ?? "")) throw error;
    await createFile(disk, to, await readFile(from));
  }
}
