/**
 * Owns that a session can go on before a process is started for it: one that is at rest is resumed, and one that is
 * just changing hands is waited for.
 */
import { type Budget, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord, resumeSession } from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { probeOwner } from "../journal/index.ts";
import { inspectSession } from "../session/index.ts";
import { deadline, present } from "../util/index.ts";
import { Ears } from "./ears.ts";

const SETTLE_MS = 2000;
const READY_ATTEMPTS = 4;

/** A session that is to go on must be one that can: what keeps it from that is said here, and not in a log. */
export async function makeReady(home: Home, found: FoundSession, budget?: Budget): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryToMakeReady(home, found, budget);
    } catch (error) {
      // Its next process took it just when we looked: it is waited for.
      if (!isHoldfastError(error, "session_owned") || budget || attempt === READY_ATTEMPTS) throw error;
    }
  }
}

async function tryToMakeReady(home: Home, found: FoundSession, budget: Budget | undefined): Promise<void> {
  const { id, dir, user } = found;
  const { held, owner, isRunning } = await whenSettled(home, found);
  if (isRunning && !budget) return;
  if (isRunning) throw new HoldfastError("session_owned", `session ${id} runs: pause it to raise its budget`);
  if (held)
    throw new HoldfastError("session_owned", `the session is open in process ${owner?.pid}`, {
      pid: owner?.pid ?? null,
    });
  const { state } = await inspectSession(dir);
  if (state.status === "open" && !budget) return;
  const cut = new CutOutput(dir);
  const session = await resumeSession(home, id, {
    user,
    outputOfCut: cut.read,
    ...present({ budget }),
  });
  await cut.settle(home, session).finally(() => session.release());
}

/** One process may just be giving the session to the next. */
export async function whenSettled(home: Home, found: FoundSession) {
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, SETTLE_MS); ; await ears.next()) {
      if (readProcessRecord(found.dir)) return { held: true, owner: undefined, isRunning: true };
      const probed = probeOwner(found.dir);
      if (!probed.held || patience.isPast) return { ...probed, isRunning: false };
    }
  } finally {
    ears.close();
  }
}

/** A process that has recorded the pause of its session is about to let go of it. */
export async function whenLeft(home: Home, found: FoundSession): Promise<void> {
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, SETTLE_MS); !patience.isPast; await ears.next()) {
      if (!probeOwner(found.dir).held) return;
      if ((await inspectSession(found.dir)).state.status !== "paused") return;
    }
  } finally {
    ears.close();
  }
}
