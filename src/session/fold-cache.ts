/**
 * Owns `fold.json`, the cached fold: its position, the version of the code that made it, and the state there.
 * fold-cache-1 It is written for durable records only, so a fold ahead of its journal means that the journal
 *    was cut.
 * fold-cache-2 It is only a cache: if it is deleted, spoiled or made by other code, it is ignored, which
 *    costs time only.
 */
import { readFile } from "node:fs/promises";
import { isPosition, type Position } from "../journal/index.ts";
import { type Disk, foldPath, isPlainObject, openSealedJson, replaceFile, sealJson } from "../util/index.ts";
import { MACHINE_VERSION } from "./machine.ts";
import type { SessionState } from "./state.ts";

export interface CachedFold {
  readonly position: Position;
  readonly state: SessionState;
}

export async function writeFold(
  disk: Disk,
  sessionDir: string,
  { position, state }: CachedFold,
): Promise<void> {
  await replaceFile(disk, foldPath(sessionDir), sealJson({ machine: MACHINE_VERSION, position, state }));
}

/**
 * Undefined when there is no usable fold. `isSpoiled` tells a changed file from a missing or an older one.
 */
export async function readFold(
  sessionDir: string,
): Promise<{ fold: CachedFold | undefined; isSpoiled: boolean }> {
  const bytes = await readFile(foldPath(sessionDir)).catch(() => undefined);
  if (!bytes) return { fold: undefined, isSpoiled: false };
  const value = openSealedJson(bytes);
  if (!value) return { fold: undefined, isSpoiled: true };
  const { machine, position, state } = value;
  const isUsable = machine === MACHINE_VERSION && isPosition(position) && isPlainObject(state);
  return {
    fold: isUsable ? { position, state: state as unknown as SessionState } : undefined,
    isSpoiled: false,
  };
}
