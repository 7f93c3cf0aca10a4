/**
 * Owns admission: which of those that wait may begin now, and why the others may not. Pure: memory, needs and places
 * in, decisions out.
 *
 * U1 The line is kept: nobody begins while somebody before them waits. So nobody starves.
 * U2 What runs and what begins needs no more, all together, than there is, without the reserve; but one may always
 *    run, or nothing ever would on a small machine.
 */
import type { Place } from "./line.ts";

export interface Memory {
  /** What could be taken without harm to what runs. */
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
  /** What the processes of a place that was granted hold now. */
  readonly useOf: (place: Place) => number;
  readonly limits: HomeLimits;
}

export interface Decision {
  readonly place: Place;
  /** Null: it may begin. */
  readonly reason: string | null;
}

/** Of all memory, this part is nobody's, and so much at least. */
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
  // What they will still take; what they hold already is not available any more.
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
      ? "others are before it"
      : running === 0
        ? null
        : reasonToWait({ place, limits, running, need, needed, room });
    decisions.push({ place, reason });
    if (reason !== null) {
      // Its own limits are its own affair; what the machine lacks, everybody lacks.
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
    return `it needs ${megabytes(need)}, and of ${megabytes(maxMemory)} allowed ${megabytes(needed)} are taken`;
  if (need > room)
    return `it needs ${megabytes(need)}, and ${megabytes(Math.max(0, room))} are free beyond the reserve`;
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
