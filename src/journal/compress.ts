/**
 * Owns the archived form of a journal: each segment and blob is compressed into a file with its name and
 * `.zst`. The original is removed only after the compressed file is synced and was read back. So after a
 * crash at any step, each file is readable in at least one form, and running it again finishes the work.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import {
  blobsDir,
  type Disk,
  journalDir,
  Meter,
  type OnProgress,
  readIfThere,
  replaceFile,
} from "../util/index.ts";
import { listBlobs } from "./blobs.ts";
import { damaged } from "./damage.ts";
import { COMPRESSED, listSegments, segmentName } from "./segments.ts";

const zstd = promisify(zstdCompress);
const unzstd = promisify(zstdDecompress);

export async function compressJournal(
  disk: Disk,
  sessionDir: string,
  onProgress?: OnProgress,
): Promise<void> {
  const segments = (await listSegments(sessionDir)).map((segment) =>
    join(journalDir(sessionDir), segmentName(segment)),
  );
  const blobs = (await listBlobs(sessionDir)).map((name) => join(blobsDir(sessionDir), name));
  const paths = [...segments, ...blobs];
  const meter = new Meter(onProgress, "compressing the journal", { ofFiles: paths.length });
  for (const path of paths) meter.add({ files: 1, bytes: await compressFile(disk, path) });
}

/** Returns how many bytes the file had. */
async function compressFile(disk: Disk, path: string): Promise<number> {
  const plain = await readIfThere(path);
  if (!plain) return 0;
  await replaceFile(disk, path + COMPRESSED, await zstd(plain));
  const back = await unzstd(await readFile(path + COMPRESSED));
  if (!back.equals(plain)) {
    throw damaged({
      file: path + COMPRESSED,
      offset: 0,
      seq: 0,
      reason: "the compressed copy, read back, is not the same as the original",
    });
  }
  await disk.unlink(path);
  await disk.syncDir(dirname(path));
  return plain.length;
}
