/**
 * Owns how a journal gets an owner: its creation, and the recovery after the last owner ended.
 *
 * A recovery holds the lock and takes these steps. Each step says what a crash after it leaves.
 * 1. Create the file of the next segment, empty. From now on the last owner, if it still runs, sees that it
 *    lost the session (journal-3). Crash: an empty file that was never part of the journal.
 * 2. Read the old tail. Records above every mark were perhaps never synced: after a failed sync, the kernel
 *    may have dropped them from its list of dirty pages. They are written again, byte for byte.
 * 3. Copy a torn tail to `.broken`. Crash: one copy too many.
 * 4. Write the header and those records to the new segment, sync it, then the directory. Crash before the
 *    sync: as 1.
 * 5. Cut the old segment at the end that the header names. Crash before: bytes after that end, which no
 *    reader reads.
 */
import { randomBytes } from "node:crypto";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import type { JournalRecord } from "../contract/index.ts";
import {
  createFile,
  type DiskFile,
  errorCode,
  IN_SESSION,
  isDiskFull,
  journalDir,
  writeAll,
} from "../util/index.ts";
import { encodeHeader, type Position } from "./line.ts";
import { type ScannedRecord, type ScannedTail, scanJournal } from "./scan.ts";
import { diskFull } from "./segment-tail.ts";
import { listSegments, segmentName } from "./segments.ts";
import { type JournalIo, JournalWriter, type WriterListener } from "./writer.ts";

export interface OpenedJournal {
  readonly writer: JournalWriter;
  readonly recovery: Recovery;
}

export interface Recovery {
  /** How many bytes of a torn tail were set aside, and in which file. */
  readonly tornBytes: number;
  readonly brokenFile: string | undefined;
}

export interface OpenOptions {
  readonly sessionDir: string;
  readonly session: string;
  readonly io: JournalIo;
  /** The position of a cached fold. Later records are handed to `onRecord`. */
  readonly from?: Position | undefined;
  /** The time of the record at `from`. */
  readonly lastAt?: string | undefined;
  readonly onRecord: (record: JournalRecord) => void;
  /** Called when all is read and nothing is written yet. If it throws, the journal stays as it was. */
  readonly admit?: () => void;
  readonly listener: WriterListener;
}

/**
 * The caller holds the owner lock. If it throws `session_damaged`, it changed nothing that a reader could
 * see.
 */
export async function openJournal(options: OpenOptions): Promise<OpenedJournal> {
  const { sessionDir, session, io } = options;
  const { disk } = io;
  const numbers = await listSegments(sessionDir);
  const segment = (numbers.at(-1) ?? 0) + 1;
  const path = join(journalDir(sessionDir), segmentName(segment));
  const file = await disk.create(path).catch((error: unknown) => {
    throw isDiskFull(error) ? diskFull(error) : error;
  });
  try {
    const { tail, unmarked, lastAt } = await readTail(options);
    options.admit?.();
    const brokenFile = tail.torn.length > 0 ? await setAside(options, tail) : undefined;
    const kept = unmarked[0]?.start ?? tail.end;
    const epoch = tail.epoch + 1;
    const prev = kept.segment === 0 ? null : kept;
    const header = encodeHeader({ session, segment, epoch, prev });
    const content = Buffer.concat([header, ...unmarked.map(({ line }) => line)]);
    await writeAll(file, content, 0);
    await file.datasync();
    await disk.syncDir(journalDir(sessionDir));
    if (kept.segment > 0 && (unmarked.length > 0 || brokenFile)) await cut(sessionDir, kept);
    const head = { segment, bytes: content.length, seq: tail.end.seq, hash: tail.end.hash };
    const start = { sessionDir, session, epoch, file, head, lastAt };
    return {
      writer: new JournalWriter(start, io, options.listener),
      recovery: { tornBytes: tail.torn.length, brokenFile },
    };
  } catch (error) {
    await abandon(file, () => disk.unlink(path));
    throw isDiskFull(error) ? diskFull(error) : error;
  }
}

async function readTail(options: OpenOptions) {
  const scan = scanJournal(options.sessionDir, options.from ? { from: options.from } : {});
  let lastAt = options.lastAt ?? "";
  const recent: ScannedRecord[] = [];
  for (;;) {
    const step = await scan.next();
    if (step.done) {
      const tail = step.value;
      const unmarked = recent.filter(({ record }) => record.seq > tail.mark);
      return { tail, unmarked, lastAt };
    }
    const scanned = step.value;
    options.onRecord(scanned.record);
    lastAt = scanned.record.at;
    // Only records after the one that this record vouches for can turn out to be above all marks.
    while (recent[0] && recent[0].record.seq <= scanned.record.durable) recent.shift();
    recent.push(scanned);
  }
}

async function setAside({ sessionDir, io }: OpenOptions, tail: ScannedTail): Promise<string> {
  const name = `${segmentName(tail.end.segment)}.${randomBytes(4).toString("hex")}.broken`;
  await createFile(io.disk, join(journalDir(sessionDir), name), tail.torn);
  await io.disk.syncDir(journalDir(sessionDir));
  return join(journalDir(IN_SESSION), name);
}

async function cut(sessionDir: string, end: Position): Promise<void> {
  await truncate(join(journalDir(sessionDir), segmentName(end.segment)), end.bytes).catch(
    (error: unknown) => {
      // It was compressed meanwhile. Bytes after a named end are ignored anyway.
      if (errorCode(error) !== "ENOENT") throw error;
    },
  );
}

async function abandon(file: DiskFile, unlink: () => Promise<void>): Promise<void> {
  await file.close().catch(() => {});
  await unlink().catch(() => {});
}
