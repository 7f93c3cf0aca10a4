/**
 * Owns letting a parked task go on without a person: once the time until which it was parked has come, the
 * next process that looks lets it go on. That is recorded before its session gets a place in the line.
 */
import { type FoundSession, type Home, resumeSession, type SessionSummary } from "../home/index.ts";
import { reachedLimits } from "../session/index.ts";
import { parkedIn } from "./parked-text.ts";
import { enterForWork, unpark } from "./resuming.ts";

/** Puts its session in the line. The caller does not wait for its process. */
export async function unparkForWork(home: Home, found: FoundSession, by: string): Promise<void> {
  const session = await resumeSession(home, found.id, { user: found.user });
  await unpark(session, by).finally(() => session.release());
  await enterForWork(home, found, {});
}

/**
 * Records that a person wants it to stay parked: without that record, it goes on by itself when its time has
 * come.
 */
export async function pauseParked(home: Home, found: FoundSession): Promise<void> {
  const session = await resumeSession(home, found.id, { user: found.user });
  await session.pause("asked");
}

/** Whether it will go on by itself. A task that a person paused does not, nor one that the budget stops. */
export function goesOnByItself(session: SessionSummary): boolean {
  const isTimed = typeof parkedIn(session)?.until === "string";
  return isTimed && session.pausedFor !== "asked" && reachedLimits(session).length === 0;
}

/** Whether that time has come. */
export function isParkOver(session: SessionSummary, nowMs: number): boolean {
  return goesOnByItself(session) && Date.parse(parkedIn(session)?.until ?? "") <= nowMs;
}
