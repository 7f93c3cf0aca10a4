/**
 * Owns letting a parked task go on without a person: when the time has come that it was parked until, whoever looks
 * does it. That is on record before its session gets a place in the line.
 */
import { type FoundSession, type Home, resumeSession, type SessionSummary } from "../home/index.ts";
import { reachedLimits } from "../session/index.ts";
import { parkedIn } from "./parked-text.ts";
import { enterForWork, unpark } from "./resuming.ts";

/** Puts its session in the line, where nobody waits for its process. */
export async function unparkForWork(home: Home, found: FoundSession, by: string): Promise<void> {
  const session = await resumeSession(home, found.id, { user: found.user });
  await unpark(session, by).finally(() => session.release());
  await enterForWork(home, found, {});
}

/** A person wants it to stay where it is: that it rests is not enough to say so. */
export async function pauseParked(home: Home, found: FoundSession): Promise<void> {
  const session = await resumeSession(home, found.id, { user: found.user });
  await session.pause("asked");
}

/** Whether it goes on by itself some time. What a person paused does not, nor what its budget stops. */
export function goesOnByItself(session: SessionSummary): boolean {
  const isTimed = typeof parkedIn(session)?.until === "string";
  return isTimed && session.pausedFor !== "asked" && reachedLimits(session).length === 0;
}

/** Whether that time has come. */
export function isParkOver(session: SessionSummary, nowMs: number): boolean {
  return goesOnByItself(session) && Date.parse(parkedIn(session)?.until ?? "") <= nowMs;
}
