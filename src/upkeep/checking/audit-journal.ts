/**
 * Owns the full check of one session's journal: every record, every blob, the manifest, the witness and the
 * cached fold. It writes nothing. Each finding gives the file, the byte and the seq. audit-kept.ts checks
 * what the journal names outside itself.
 */
import { isDeepStrictEqual } from "node:util";
import {
  assertWitnessed,
  blobReferences,
  type Damage,
  damageOf,
  isDeeperThan,
  JOURNAL_START,
  MAX_DEPTH,
  type Position,
  readBlob,
  scanJournal,
  segmentFile,
} from "../../journal/index.ts";
import { emptyState, fold, readFold, readManifest, type SessionState } from "../../session/index.ts";
import { KeptNames, readHomes } from "../../task/index.ts";
import { foldPath, IN_SESSION, Meter, manifestPath, type OnProgress, witnessPath } from "../../util/index.ts";

export interface JournalAudit {
  readonly records: number;
  readonly blobs: number;
  readonly tornBytes: number;
  /** Bytes after the named ends of segments: they are not part of the journal, and not damage. */
  readonly ignoredBytes: number;
  readonly findings: readonly Damage[];
  /** The end of the records that are good and whose blobs are good, and the state at that point. */
  readonly good: { readonly position: Position; readonly state: SessionState };
  /** Blobs that the good records name. */
  readonly goodBlobs: ReadonlySet<string>;
  /** What the records name that is kept outside the journal. */
  readonly kept: KeptNames;
}

export async function auditJournal(sessionDir: string, onProgress?: OnProgress): Promise<JournalAudit> {
  const meter = new Meter(onProgress, "checking the journal");
  const findings: Damage[] = [];
  const cached = await readFold(sessionDir);
  if (cached.isSpoiled)
    findings.push(spoiled(foldPath(IN_SESSION), "the cached fold (fold.json) is not as it was written"));

  let state = emptyState;
  let position = JOURNAL_START;
  let good: JournalAudit["good"] | undefined;
  let inJournal: Damage | undefined;
  let tornBytes = 0;
  let ignoredBytes = 0;
  const blobs = new Set<string>();
  const kept = new KeptNames();
  try {
    const scan = scanJournal(sessionDir, { known: cached.fold?.position });
    for (;;) {
      const step = await scan.next();
      if (step.done) {
        tornBytes = step.value.torn.length;
        ignoredBytes = step.value.ignoredBytes;
        position = step.value.end;
        break;
      }
      const { record, start, end } = step.value;
      meter.add({ bytes: Math.max(0, end.bytes - start.bytes) });
      for (const reference of blobReferences(record.data)) {
        meter.add({ files: 1, bytes: reference.$blob.bytes });
        const damage = await damageBy(readBlob(sessionDir, reference, record.seq));
        if (damage) {
          findings.push(damage);
          good ??= { position, state };
        }
        if (!good) blobs.add(reference.$blob.sha256);
      }
      if (isDeeperThan(record.data, MAX_DEPTH + 1)) {
        const file = segmentFile(end.segment);
        findings.push({
          file,
          offset: start.bytes,
          seq: record.seq,
          reason: "the record is nested too deeply",
        });
        good ??= { position, state };
      }
      kept.note(record);
      state = fold(state, record);
      position = end;
      if (cached.fold?.position.seq === record.seq && !isDeepStrictEqual(cached.fold.state, state)) {
        findings.push(
          spoiled(foldPath(IN_SESSION), "the cached fold (fold.json) is not the state that the records give"),
        );
      }
    }
  } catch (error) {
    const damage = damageOf(error);
    if (!damage) throw error;
    inJournal = damage;
    findings.push(damage);
  }
  findings.push(...(await checkBeside(sessionDir, state, inJournal)));
  return {
    records: state.seq,
    blobs: blobs.size,
    tornBytes,
    ignoredBytes,
    findings,
    good: good ?? { position, state },
    goodBlobs: blobs,
    kept,
  };
}

/**
 * The files beside the journal must agree with it. This can't be told of a journal that was not read to its
 * end.
 */
async function checkBeside(
  sessionDir: string,
  state: SessionState,
  inJournal: Damage | undefined,
): Promise<Damage[]> {
  // A spoiled witness is reported after all records were read.
  const isReadToItsEnd = !inJournal || inJournal.file === witnessPath(IN_SESSION);
  const findings: Damage[] = [];
  try {
    const manifest = await readManifest(sessionDir);
    const isSame =
      manifest?.session === state.id &&
      manifest.user === state.user &&
      manifest.agent === state.agent &&
      manifest.repo === state.repo &&
      manifest.createdAt === state.createdAt;
    if (!manifest) findings.push(spoiled(manifestPath(IN_SESSION), "the manifest is missing"));
    else if (isReadToItsEnd && !isSame)
      findings.push(spoiled(manifestPath(IN_SESSION), "the manifest does not agree with the journal"));
  } catch (error) {
    const damage = damageOf(error);
    if (!damage) throw error;
    findings.push(damage);
  }
  const changedHomes = await damageBy(readHomes(sessionDir));
  if (changedHomes) findings.push(changedHomes);
  const unwitnessed = await damageBy(assertWitnessed(sessionDir));
  // The scan has already reported a spoiled witness.
  if (unwitnessed && inJournal?.file !== witnessPath(IN_SESSION)) findings.push(unwitnessed);
  return findings;
}

async function damageBy(work: Promise<unknown>): Promise<Damage | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    const damage = damageOf(error);
    if (!damage) throw error;
    return damage;
  }
}

function spoiled(file: string, reason: string): Damage {
  return { file, offset: 0, seq: 0, reason };
}
