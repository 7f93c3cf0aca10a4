/**
 * Owns making sure that a session can go on before a process is started for it: a session at rest is resumed,
 * and one that is just changing owners is waited for.
 */
import { type Budget, HoldfastError, isHoldfastError } from "../contract/index.ts";
import {
  type FoundSession,
  findSession,
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

/** What keeps the session from going on is reported here, to the caller, and not in a log. */
export async function makeReady(home: Home, found: FoundSession, budget?: Budget): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryToMakeReady(home, found, budget);
    } catch (error) {
      // Its next process took it just as we looked; that process is waited for.
      if (!isHoldfastError(error, "session_owned") || budget || attempt === READY_ATTEMPTS) throw error;
    }
  }
}

async function tryToMakeReady(home: Home, found: FoundSession, budget: Budget | undefined): Promise<void> {
  const { id, dir } = found;
  const hands = await whenSettled(home, found);
  if (hands.kind === "process" && !budget) return;
  if (hands.kind === "process")
    throw new HoldfastError("session_owned", `session ${id} is running: pause it to raise its budget`);
  if (hands.kind === "owner")
    throw new HoldfastError("session_owned", `the session is open in process ${hands.pid}`, {
      pid: hands.pid ?? null,
    });
  const { state } = await inspectSession(dir);
  if (state.status === "open" && !budget) return;
  await resumeBriefly(home, found, present({ budget }));
}

/**
 * We own the session for a moment: we record that it goes on, and close a turn that a crash cut off, with the
 * output that exists.
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

/** Who has a session: a session process, another owner, or none. */
export type Hands =
  | { readonly kind: "process" | "none" }
  | { readonly kind: "owner"; readonly pid: number | undefined };

/** One process may be handing the session to the next. */
export async function whenSettled(home: Home, found: FoundSession): Promise<Hands> {
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, SETTLE_MS); ; await ears.next()) {
      if (readProcessRecord(found.dir)) return { kind: "process" };
      const { held, owner } = probeOwner(found.dir);
      if (!held) return { kind: "none" };
      if (patience.isPast) return { kind: "owner", pid: owner?.pid };
    }
  } finally {
    ears.close();
  }
}

/**
 * A process that has recorded that its session is paused, or that its task is parked, is about to let go of
 * it.
 */
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

/** The same, for what is done with a session by its id. */
export async function whenSessionLeft(home: Home, id: string, user: string | undefined): Promise<void> {
  await whenLeft(home, await findSession(home, id, user));
}
