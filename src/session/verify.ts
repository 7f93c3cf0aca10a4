/**
 * Owns the look at a session that another one is to stand on: every record of it is good, and every blob that one
 * names. What was found good before, and is as it was then, is not read again (C3).
 */
import { CheckedFiles, damageOf, JOURNAL_START, readDurable } from "../journal/index.ts";
import { type Inspected, inspectSession } from "./inspect.ts";
import { fold } from "./machine.ts";
import { emptyState } from "./state.ts";

export interface Verified extends Inspected {
  /** Saves the next one from reading it all again. For when the links of a fork are made, which change the files' times. */
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
  // All of it was found good before, and the end of it is where the look at it came to.
  const isAllKnown = from.seq === inspected.position.seq;
  try {
    const records = isAllKnown ? [] : readDurable(sessionDir, { from });
    for await (const scanned of records) {
      checked.note(scanned);
      // What was read from the first record needs no cache to be believed.
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
