export {
  assertRecordable,
  blobReferences,
  blobsDir,
  listBlobs,
  loadLongFields,
  readBlob,
} from "./blobs.ts";
export { compressJournal } from "./compress.ts";
export { type Damage, damaged, damageOf } from "./damage.ts";
export { forkBlobs, forkSegments } from "./fork.ts";
export { FORMAT_VERSION, isPosition, type Position } from "./line.ts";
export { openJournal, type Recovery } from "./open.ts";
export { acquireOwner, type OwnerLock, probeOwner, takeOver } from "./owner.ts";
export { readDurable } from "./read.ts";
export { JOURNAL_START, scanJournal } from "./scan.ts";
export {
  isBadCompression,
  journalDir,
  listSegments,
  MAX_SEGMENT_BYTES,
  readChain,
  readMaybeCompressed,
  segmentName,
} from "./segments.ts";
export { assertWitnessed, encodeWitness, WITNESS_FILE } from "./witness.ts";
export type { JournalPorts, JournalWriter, Redaction, Redactor } from "./writer.ts";
