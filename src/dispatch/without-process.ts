/**
 * Owns what is done to a session after its process: that is ended first, and what it did is kept.
 */
import { isHoldfastError } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { inspectSession } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { resumeBriefly, whenSettled } from "./readiness.ts";
import { type StopOptions, stopProcess } from "./stopping.ts";

const STOP_MS = 5000;

/** What still runs is ended first, and kept. */
export function withoutProcess<T>(
  home: Home,
  found: FoundSession,
  options: StopOptions,
  work: () => Promise<T>,
): Promise<T> {
  return afterStop(home, found, options, async () => {
    await closeCutTurn(home, found);
    return work();
  });
}

/** Just when its process has ended, another one may have taken its place: that is ended, too. */
export async function afterStop<T>(
  home: Home,
  found: FoundSession,
  options: StopOptions,
  work: () => Promise<T>,
): Promise<T> {
  for (const patience = deadline(home.io.clock, STOP_MS); ; ) {
    await stopProcess(home, found, options);
    try {
      return await work();
    } catch (error) {
      if (!isHoldfastError(error, "session_owned") || patience.isPast) throw error;
    }
    await whenSettled(home, found);
  }
}

/** Whoever is the next to own a session that crashed closes its turn. */
async function closeCutTurn(home: Home, found: FoundSession): Promise<void> {
  const { state } = await inspectSession(found.dir);
  if (state.openTurn) await resumeBriefly(home, found);
}
