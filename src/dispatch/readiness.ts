/**
 * Owns that a session can go on before a process is started for it: one that is at rest is resumed, and one that is
 * just changing hands is waited for.
 */
import { type Budget, HoldfastError, isHoldfastError } from "../contract/index.ts";
import {
  type FoundSession,
  type Home,
  type ResumeOptions,
  readProcessRecord,
  resumeSession,
} from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { probeOwner } from "../journal/index.ts";
import { inspectSession } from "../session/index.ts";
import { deadline, present } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { parkedIn } from "./parked-text.ts";

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
  const { id, dir } = found;
  const hands = await whenSettled(home, found);
  if (hands.kind === "process" && !budget) return;
  if (hands.kind === "process")
    throw new HoldfastError("session_owned", `session ${id} runs: pause it to raise its budget`);
  if (hands.kind === "owner")
    throw new HoldfastError("session_owned", `the session is open in process ${hands.pid}`, {
      pid: hands.pid ?? null,
    });
  const { state } = await inspectSession(dir);
  if (state.status === "open" && !budget) return;
  await resumeBriefly(home, found, present({ budget }));
}

/**
 * As its owner for a moment: that it goes on is on record, and a turn that a crash cut off is closed, with the output
 * that is there.
 */
export async function resumeBriefly(
  home: Home,
  { id, dir, user }: FoundSession,
  options: Pick<ResumeOptions, "budget"> = {},
): Promise<void> {
  const cut = new CutOutput(dir);
  const session = await resumeSession(home, id, { user, outputOfCut: cut.read, ...options });
  await cut.settle(home, session).finally(() => session.release());
}

/** In whose hands a session is: a session process's, another owner's, or nobody's. */
export type Hands =
  | { readonly kind: "process" | "nobody" }
  | { readonly kind: "owner"; readonly pid: number | undefined };

/** One process may just be giving the session to the next. */
export async function whenSettled(home: Home, found: FoundSession): Promise<Hands> {
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, SETTLE_MS); ; await ears.next()) {
      if (readProcessRecord(found.dir)) return { kind: "process" };
      const { held, owner } = probeOwner(found.dir);
      if (!held) return { kind: "nobody" };
      if (patience.isPast) return { kind: "owner", pid: owner?.pid };
    }
  } finally {
    ears.close();
  }
}

/** A process that has recorded the pause of its session, or that its task is parked, is about to let go of it. */
export async function whenLeft(home: Home, found: FoundSession): Promise<void> {
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, SETTLE_MS); !patience.isPast; await ears.next()) {
      if (!probeOwner(found.dir).held) return;
      const { state } = await inspectSession(found.dir);
      if (state.status !== "paused" && !parkedIn(state)) return;
    }
  } finally {
    ears.close();
  }
}
