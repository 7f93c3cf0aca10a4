/**
 * Owns the archived form of a journal: each segment and blob compressed by itself, under its name and `.zst`.
 * A file is removed only when its compressed form is synced and reads back the same, so a crash at any step
 * leaves each file readable in at least one form, and doing it again finishes the work.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { type Disk, readIfThere, replaceFile } from "../util/index.ts";
import { blobsDir, listBlobs } from "./blobs.ts";
import { damaged } from "./damage.ts";
import { COMPRESSED, journalDir, listSegments, segmentName } from "./segments.ts";

const zstd = promisify(zstdCompress);
const unzstd = promisify(zstdDecompress);

export async function compressJournal(disk: Disk, sessionDir: string): Promise<void> {
  for (const segment of await listSegments(sessionDir)) {
    await compressFile(disk, join(journalDir(sessionDir), segmentName(segment)));
  }
  for (const name of await listBlobs(sessionDir)) {
    await compressFile(disk, join(blobsDir(sessionDir), name));
  }
}

async function compressFile(disk: Disk, path: string): Promise<void> {
  const plain = await readIfThere(path);
  if (!plain) return;
  await replaceFile(disk, path + COMPRESSED, await zstd(plain));
  const back = await unzstd(await readFile(path + COMPRESSED));
  if (!back.equals(plain)) {
    throw damaged({
      file: path + COMPRESSED,
      offset: 0,
      seq: 0,
      reason: "the compressed form does not read back",
    });
  }
  await disk.unlink(path);
  await disk.syncDir(dirname(path));
}
