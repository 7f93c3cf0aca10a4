/**
 * Owns the check of a session before another one is built on it: all of its records are good, and so is every
 * blob that they name. What was found good before and has not changed since is not read again (checked-1).
 */
import { CheckedFiles, damageOf, JOURNAL_START, readDurable } from "../journal/index.ts";
import { type Inspected, inspectSession } from "./inspect.ts";
import { fold } from "./machine.ts";
import { emptyState } from "./state.ts";

export interface Verified extends Inspected {
  /**
   * Saves the next check from reading everything again. Call it after the links of a fork are made, because
   * they change the times of the files.
   */
  remember(): void;
}

export async function verifySession(sessionDir: string): Promise<Verified> {
  const checked = await CheckedFiles.read(sessionDir);
  const inspected = await inspectSession(sessionDir);
  const remember = () => checked.save();
  if (inspected.damage) return { ...inspected, remember };
  const { from } = checked;
  const isWholeRead = from.seq === JOURNAL_START.seq;
  let state = isWholeRead ? emptyState : inspected.state;
  // Everything was found good before if that check ended at the same record.
  const isAllKnown = from.seq === inspected.position.seq;
  try {
    const records = isAllKnown ? [] : readDurable(sessionDir, { from });
    for await (const scanned of records) {
      checked.note(scanned);
      // A read from the first record does not depend on the cache.
      if (isWholeRead && scanned.record.seq <= inspected.position.seq) state = fold(state, scanned.record);
    }
    await checked.assertBlobs();
    return { ...inspected, state, remember };
  } catch (error) {
    const damage = damageOf(error);
    if (!damage) throw error;
    return { ...inspected, damage, remember };
  }
}
