/**
 * Owns what is done to a session once it has no process: the process is ended first, and its work is kept.
 */
import { isHoldfastError } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { inspectSession } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { resumeBriefly, whenSettled } from "./readiness.ts";
import { type StopOptions, stopProcess } from "./stopping.ts";

const STOP_MS = 5000;

/** A process of the session is ended first, and its work is kept. */
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

/** Just when its process has ended, another one may have taken its place; that one is ended, too. */
export async function afterStop<T>(
  home: Home,
  found: FoundSession,
  options: StopOptions,
  work: () => Promise<T>,
): Promise<T> {
  await stopProcess(home, found, options);
  // Counted from here, because a process may take much longer than this to end.
  for (const patience = deadline(home.io.clock, STOP_MS); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isHoldfastError(error, "session_owned") || patience.isPast) throw error;
    }
    await whenSettled(home, found);
    await stopProcess(home, found, options);
  }
}

/** The next owner of a session that crashed closes its turn. */
async function closeCutTurn(home: Home, found: FoundSession): Promise<void> {
  const { state } = await inspectSession(found.dir);
  if (state.openTurn) await resumeBriefly(home, found);
}
