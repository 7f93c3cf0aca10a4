/**
 * Owns the session process's part of the line: it takes the place that the dispatcher granted, or waits in
 * it.
 */
import type { SessionId } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { isAlive } from "../util/index.ts";
import { myself, withLine } from "./line.ts";

export interface PlaceRequest {
  readonly session: SessionId;
  readonly definition: string;
  readonly priority: number;
}

/** From the moment that we have the session: if we are killed now, the session has crashed, not its start. */
export async function holdPlace(home: Home, session: SessionId): Promise<void> {
  await withLine(home, async (line) => {
    const place = line.get(session);
    if (place?.state === "granted") await line.set({ ...place, sessionProcess: myself(), isTaken: true });
  });
}

/** Whether an agent of this kind may be started now. If not, the session waits in the line. */
export async function takePlace(home: Home, request: PlaceRequest): Promise<boolean> {
  return withLine(home, async (line) => {
    const place = line.get(request.session);
    const sessionProcess = myself();
    // A place that was granted for another kind of agent does not reserve the memory that this one needs.
    if (place?.state === "granted" && place.definition === request.definition) {
      if (!place.isTaken) await line.set({ ...place, ...request, sessionProcess, isTaken: true });
      return true;
    }
    await line.set({
      ...request,
      order: place?.order ?? (await line.nextOrder()),
      state: "waiting",
      reason: place?.state === "waiting" ? place.reason : null,
      maxSessions: place?.maxSessions ?? null,
      maxMemoryBytes: place?.maxMemoryBytes ?? null,
      sessionProcess,
      by: null,
      attempts: 0,
      maker: sessionProcess,
      isTaken: false,
    });
    return false;
  });
}

/**
 * Gives the place back, if it is ours: another one may have been made for the next process. Resolves to
 * whether others wait for one.
 */
export async function leavePlace(home: Home, session: SessionId): Promise<boolean> {
  return withLine(home, async (line) => {
    const sessionProcess = line.get(session)?.sessionProcess;
    if (sessionProcess && (sessionProcess.pid === process.pid || !isAlive(sessionProcess)))
      line.remove(session);
    return (await line.places()).some(({ state }) => state === "waiting");
  });
}
