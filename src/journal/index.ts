export {
  assertRecordable,
  blobReferences,
  isDeeperThan,
  loadLongFields,
  MAX_DEPTH,
  readBlob,
} from "./blobs.ts";
export { CheckedFiles } from "./checked.ts";
export { compressJournal } from "./compress.ts";
export { type Damage, damaged, damageOf } from "./damage.ts";
export { forkBlobs, forkSegments } from "./fork.ts";
export { FORMAT_VERSION, isPosition, MAX_SEGMENT, type Position } from "./line.ts";
export { type OpenedJournal, openJournal, type Recovery } from "./open.ts";
export { acquireOwner, type OwnerLock, probeOwner, takeOver } from "./owner.ts";
export { readDurable } from "./read.ts";
export { JOURNAL_START, scanJournal } from "./scan.ts";
export {
  isBadCompression,
  listSegments,
  MAX_SEGMENT_BYTES,
  readChain,
  readMaybeCompressed,
  segmentFile,
  segmentName,
} from "./segments.ts";
export { journalStamp } from "./stamp.ts";
export { assertWitnessed, writeWitness } from "./witness.ts";
export type { JournalIo, JournalWriter, Redaction, Redactor, WriterListener } from "./writer.ts";
