/**
 * Owns entering the line, and granting its places: a session with something to do gets a place, and a session
 * whose place is granted gets a process.
 */
import { existsSync } from "node:fs";
import type { SessionId } from "../contract/index.ts";
import { type Home, readProcessRecord, sessionDirOf } from "../home/index.ts";
import { knock } from "../mail/index.ts";
import { measureTree } from "../process/index.ts";
import { identityOf, present } from "../util/index.ts";
import { type Decision, decide } from "./admission.ts";
import { readLimits } from "./limits.ts";
import { myself, type Place, withLine } from "./line.ts";
import { needOf, readMemory } from "./memory.ts";

export type PlaceWish = Pick<Place, "session" | "definition" | "priority"> &
  Partial<Pick<Place, "maxSessions" | "maxMemoryBytes" | "by">>;

/** A session that has a place keeps it. */
export async function enterLine(home: Home, wish: PlaceWish): Promise<void> {
  await withLine(home, async (line) => {
    const order = await line.nextOrder();
    if (line.get(wish.session)) return;
    await line.set({
      maxSessions: null,
      maxMemoryBytes: null,
      by: null,
      ...wish,
      order,
      state: "waiting",
      reason: null,
      sessionProcess: null,
      maker: myself(),
      attempts: 0,
      isTaken: false,
    });
  });
}

/** Starts the process of a session; resolves to its pid. */
export type StartProcess = (session: SessionId, options: { readonly by?: string }) => Promise<number>;

/**
 * Lets those begin for which there is room, and records for the others why they wait. The process of a
 * session that is yet to be opened has to hear when that has happened, so only the caller that opens the
 * session (`opening`) starts it.
 */
export async function admitWaiting(home: Home, start: StartProcess, opening?: SessionId): Promise<void> {
  const toRing = await withLine(home, async (line) => {
    const places = await line.places();
    if (!places.some(({ state }) => state === "waiting")) return [];
    const rung: string[] = [];
    for (const { place, reason } of await decisions(home, places)) {
      if (reason !== null) {
        if (reason !== place.reason) await line.set({ ...place, reason });
        continue;
      }
      const sessionDir = sessionDirOf(home, place.session);
      if (place.session !== opening && !existsSync(sessionDir)) continue;
      const bell = readProcessRecord(sessionDir)?.bell;
      if (place.sessionProcess && bell) rung.push(bell);
      // Written under the name of the process that will take it: if that process dies before, the place goes
      // back to the line.
      const sessionProcess =
        place.sessionProcess ??
        identityOf(await start(place.session, present({ by: place.by ?? undefined })));
      await line.set({ ...place, state: "granted", reason: null, sessionProcess, isTaken: false });
    }
    return rung;
  });
  for (const bell of toRing) await knock(bell);
}

async function decisions(home: Home, places: readonly Place[]): Promise<Decision[]> {
  const definitions = new Set(places.map(({ definition }) => definition));
  const needs = new Map<string, number>();
  const memory = readMemory();
  for (const definition of definitions) needs.set(definition, await needOf(home, definition, memory));
  return decide(places, {
    memory,
    limits: await readLimits(home),
    needOf: (definition) => needs.get(definition) ?? 0,
    useOf: ({ sessionProcess }) => (sessionProcess ? measureTree(sessionProcess.pid).bytes : 0),
  });
}
