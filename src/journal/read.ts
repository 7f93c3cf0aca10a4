/**
 * Owns reading without the lock, while another process may be writing.
 *
 * reading-1 Everything that it returns is durable: records below a mark are known to be, and records above
 *    all marks are synced first.
 */
import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { journalDir } from "../util/index.ts";
import { type Damage, damageOf } from "./damage.ts";
import { type ScannedRecord, type ScannedTail, type ScanOptions, scanJournal } from "./scan.ts";
import { COMPRESSED, segmentName } from "./segments.ts";

export interface ReadOptions extends ScanOptions {
  /** Syncs a file or a directory by its path. */
  readonly sync?: (path: string) => Promise<void>;
}

/** Like `scanJournal`, but everything it yields, and the end it returns, are on disk before it does so. */
export async function* readDurable(
  sessionDir: string,
  options: ReadOptions = {},
): AsyncGenerator<ScannedRecord, ScannedTail> {
  let seq = 0;
  for (let seen: Damage | undefined; ; ) {
    const records = readOnce(sessionDir, options);
    try {
      for (;;) {
        const step = await records.next();
        if (step.done) return step.value;
        if (step.value.record.seq <= seq) continue;
        seq = step.value.record.seq;
        yield step.value;
      }
    } catch (error) {
      // A recovery moves the last records into its own segment. A reader that reads at that moment may find
      // them in neither segment. The next attempt then succeeds, whereas damage is found again.
      const damage = damageOf(error);
      if (!damage || (damage.file === seen?.file && damage.offset === seen.offset)) throw error;
      seen = damage;
    }
  }
}

async function* readOnce(
  sessionDir: string,
  options: ReadOptions,
): AsyncGenerator<ScannedRecord, ScannedTail> {
  const scan = scanJournal(sessionDir, options);
  // Records for which there is no mark yet: at most the last batch.
  const held: ScannedRecord[] = [];
  for (;;) {
    const step = await scan.next().catch(async (error: unknown) => ({ error }));
    if ("error" in step) {
      // The records before the damage are still good.
      const last = held.at(-1);
      if (last && (await syncTail(sessionDir, last.end.segment, options.sync))) yield* held;
      throw step.error;
    }
    if (step.done) {
      const tail = step.value;
      const doubtful = held.filter(({ record }) => record.seq > tail.mark);
      const isSynced = doubtful.length === 0 || (await syncTail(sessionDir, tail.end.segment, options.sync));
      const good = isSynced ? held : held.slice(0, held.length - doubtful.length);
      yield* good;
      return isSynced ? tail : { ...tail, end: doubtful[0]?.start ?? tail.end };
    }
    while (held[0] && held[0].record.seq <= step.value.record.durable) yield held.shift() as ScannedRecord;
    held.push(step.value);
  }
}

async function syncTail(sessionDir: string, segment: number, sync = syncPath): Promise<boolean> {
  const directory = journalDir(sessionDir);
  try {
    const path = join(directory, segmentName(segment));
    await sync(existsSync(path) ? path : path + COMPRESSED);
    await sync(directory);
    return true;
  } catch {
    // The disk could not sync these bytes, so this reader does not return them.
    return false;
  }
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  await handle.datasync().finally(() => handle.close());
}
