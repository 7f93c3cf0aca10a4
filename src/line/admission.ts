/**
 * Owns admission: which of the waiting sessions may begin now, and why the others may not. Pure: memory,
 * needs and places in, decisions out.
 *
 * line-1 The order of the line is kept: no session begins while one before it waits. So no session starves.
 * line-2 What runs and what begins needs together no more than there is, without the reserve; but one session
 *        may always run, or nothing ever would on a small machine.
 */
import type { Place } from "./line.ts";

export interface Memory {
  /** The memory that could be taken without harm to what runs. */
  readonly availableBytes: number;
  readonly totalBytes: number;
}

export interface HomeLimits {
  readonly maxSessions: number | null;
  readonly maxMemoryBytes: number | null;
}

export interface Circumstances {
  readonly memory: Memory;
  /** What agents of a definition have needed at their peak. */
  readonly needOf: (definition: string) => number;
  /** What the processes of a granted place hold now. */
  readonly useOf: (place: Place) => number;
  readonly limits: HomeLimits;
}

export interface Decision {
  readonly place: Place;
  /** Null: it may begin. */
  readonly reason: string | null;
}

/** This part of all memory stays free, and at least so many bytes. */
const RESERVE_PART = 0.1;
const MIN_RESERVE_BYTES = 256 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;

export function reserveBytes({ totalBytes }: Memory): number {
  return Math.max(MIN_RESERVE_BYTES, totalBytes * RESERVE_PART);
}

/** `places` in the order of the line. */
export function decide(places: readonly Place[], circumstances: Circumstances): Decision[] {
  const { memory, needOf, useOf, limits } = circumstances;
  const granted = places.filter(({ state }) => state === "granted");
  let running = granted.length;
  // What they will still take. What they already hold is not available any more.
  let promised = granted.reduce(
    (sum, place) => sum + Math.max(0, needOf(place.definition) - useOf(place)),
    0,
  );
  let needed = granted.reduce((sum, place) => sum + Math.max(needOf(place.definition), useOf(place)), 0);
  const decisions: Decision[] = [];
  let isBlocked = false;
  for (const place of places.filter(({ state }) => state === "waiting")) {
    const need = needOf(place.definition);
    const room = memory.availableBytes - reserveBytes(memory) - promised;
    const reason = isBlocked
      ? "other sessions are before it in the line"
      : running === 0
        ? null
        : reasonToWait({ place, limits, running, need, needed, room });
    decisions.push({ place, reason });
    if (reason !== null) {
      // A session that waits because of its own limits does not block the others; one that waits for what the
      // machine lacks does.
      isBlocked ||= !isOwnReason(place, limits, running, need, needed);
      continue;
    }
    running += 1;
    promised += need;
    needed += need;
  }
  return decisions;
}

function reasonToWait(of: {
  place: Place;
  limits: HomeLimits;
  running: number;
  need: number;
  needed: number;
  room: number;
}): string | null {
  const { place, limits, running, need, needed, room } = of;
  const maxSessions = least(place.maxSessions, limits.maxSessions);
  if (maxSessions !== null && running >= maxSessions)
    return `${running} ${running === 1 ? "session runs" : "sessions run"}, and the limit is ${maxSessions}`;
  const maxMemory = least(place.maxMemoryBytes, limits.maxMemoryBytes);
  if (maxMemory !== null && needed + need > maxMemory)
    return `it needs ${megabytes(need)}, and ${megabytes(needed)} of the allowed ${megabytes(maxMemory)} are taken`;
  if (need > room)
    return `it needs ${megabytes(need)}, and ${megabytes(Math.max(0, room))} are free above the reserve`;
  return null;
}

function isOwnReason(
  place: Place,
  limits: HomeLimits,
  running: number,
  need: number,
  needed: number,
): boolean {
  const isFewer = place.maxSessions !== null && running >= place.maxSessions;
  const isLess = place.maxMemoryBytes !== null && needed + need > place.maxMemoryBytes;
  const isOurs =
    (limits.maxSessions !== null && running >= limits.maxSessions) ||
    (limits.maxMemoryBytes !== null && needed + need > limits.maxMemoryBytes);
  return (isFewer || isLess) && !isOurs;
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

const megabytes = (bytes: number) => `${Math.round(bytes / MEGABYTE)} MB`;
