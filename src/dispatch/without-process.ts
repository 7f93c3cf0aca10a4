/**
 * Owns what is done to a session after its process: that is ended first, and what it did is kept.
 */
import { isHoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, resumeSession } from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { inspectSession } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { whenSettled } from "./readiness.ts";
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

/** Whoever is the next to own a session that crashed closes its turn: with the output that is there. */
async function closeCutTurn(home: Home, { id, dir, user }: FoundSession): Promise<void> {
  const { state } = await inspectSession(dir);
  if (!state.openTurn) return;
  const cut = new CutOutput(dir);
  const session = await resumeSession(home, id, { user, outputOfCut: cut.read });
  await cut.settle(home, session).finally(() => session.release());
}
