/**
 * Owns `head.json`, the witness: a position outside the segments that was durable when it was written. The
 * witness exists from the session's first moment, and is replaced at pause, close and rollover. `isFinal`
 * means that the owner let go at this position: no record follows it in that segment.
 *
 * journal-2 `seq` has no gaps and the chain of hashes is whole. Where it is not, a reader detects and locates
 *    that. A journal that ends before its witness was cut.
 */
import {
  type Disk,
  IN_SESSION,
  openSealedJson,
  readIfThere,
  replaceFile,
  sealJson,
  witnessPath,
} from "../util/index.ts";
import { damaged } from "./damage.ts";
import { isPosition, type Position } from "./line.ts";

export interface Witness {
  readonly head: Position;
  readonly isFinal: boolean;
}

export async function writeWitness(
  disk: Disk,
  sessionDir: string,
  { head, isFinal }: Witness,
): Promise<void> {
  const { segment, bytes, seq, hash } = head;
  const content = sealJson({ head: { segment, bytes, seq, hash }, isFinal });
  await replaceFile(disk, witnessPath(sessionDir), content);
}

export async function readWitness(sessionDir: string): Promise<Witness | undefined> {
  const bytes = await readIfThere(witnessPath(sessionDir));
  if (!bytes) return undefined;
  const { head, isFinal } = openSealedJson(bytes) ?? {};
  if (isPosition(head) && typeof isFinal === "boolean") return { head, isFinal };
  throw damaged({
    file: witnessPath(IN_SESSION),
    offset: 0,
    seq: 0,
    reason: "the witness (head.json) is not as it was written",
  });
}

/** Without its witness, a journal that was cut could pass for a shorter one. */
export async function assertWitnessed(sessionDir: string): Promise<void> {
  if ((await readWitness(sessionDir)) !== undefined) return;
  throw damaged({
    file: witnessPath(IN_SESSION),
    offset: 0,
    seq: 0,
    reason: "the witness (head.json) is missing",
  });
}
