/**
 * Owns `head.json`, the witness: a position that was durable when it was written, outside the segments.
 * It is written at pause, close and rollover. A journal that ends before its witness was cut (J2).
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Disk, errorCode, openSealedJson, replaceFile, sealJson } from "../util/index.ts";
import { damaged } from "./damage.ts";
import { isPosition, type Position } from "./line.ts";

const WITNESS_FILE = "head.json";

export async function writeWitness(disk: Disk, sessionDir: string, head: Position): Promise<void> {
  const { segment, bytes, seq, hash } = head;
  await replaceFile(disk, join(sessionDir, WITNESS_FILE), sealJson({ head: { segment, bytes, seq, hash } }));
}

export async function readWitness(sessionDir: string): Promise<Position | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(join(sessionDir, WITNESS_FILE));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  const head = openSealedJson(bytes)?.["head"];
  if (isPosition(head)) return head;
  throw damaged({ file: WITNESS_FILE, offset: 0, seq: 0, reason: "the witness of the head was changed" });
}
