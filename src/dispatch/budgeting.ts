/**
 * Owns raising a session's budget. If the session has a process, that process records the new budget and lets
 * a request go on that it holds; otherwise the budget is recorded here. What the budget had stopped goes on
 * then. It is raised exactly once, wherever it is recorded: the envelope names an epoch, so the next owner
 * does not obey it, and before it is sent again the journal is searched for the first one.
 */
import { type Budget, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { type Position, readDurable } from "../journal/index.ts";
import type { LocalHome } from "../library/index.ts";
import {
  inspectSession,
  raisedBy,
  reachedLimits,
  Session,
  type SessionState,
  spentBy,
  taskUnderWay,
  tokensIn,
} from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { parkedIn } from "./parked-text.ts";
import { put, ringSession, stamp } from "./post.ts";
import { type Resumed, resumeProcess } from "./resuming.ts";

/**
 * The session process looks into its inbox and writes a record in a moment. If it takes longer than this,
 * something is wrong.
 */
const RECORD_MS = 10_000;
/**
 * A request that was held too long ends its turn, and the agent has some seconds to leave. Until then its task
 * may still be parked.
 */
const PARKING_MS = 7000;

export interface Raised {
  readonly state: SessionState;
  /**
   * For a session that the budget had stopped: what `resume` would report. Null if it was not stopped, or
   * still is.
   */
  readonly process: Resumed["process"] | null;
}

/** Adds the amounts to the limits in force. Resolves when the record is on disk. */
export async function raiseBudget(
  home: Home,
  holdfast: LocalHome,
  found: FoundSession,
  amounts: Budget,
): Promise<Raised> {
  const { state: before, position } = await inspectSession(found.dir);
  // Refused here, where the caller gets the error.
  raisedBy(before.budget, amounts);
  const spent = spentBy(home.io.clock.nowMs(), before);
  const wasReached = reachedLimits({ ...before, spent }).length > 0;
  await recordRaise(home, found, amounts, position);
  const state = wasReached
    ? await whenParkedOrNot(home, found, before)
    : (await inspectSession(found.dir)).state;
  const isStopped = parkedIn(state)?.reason === "budget" || state.pausedFor === "budget";
  if (!isStopped || reachedLimits(state).length > 0) return { state, process: null };
  return resumeProcess(home, holdfast, found, { user: found.user });
}

async function recordRaise(home: Home, found: FoundSession, amounts: Budget, from: Position): Promise<void> {
  const by = `user:${found.user}`;
  const asked = new Set<string>();
  let epoch: number | undefined;
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, RECORD_MS); !patience.isPast; await ears.next()) {
      const record = readProcessRecord(found.dir);
      if (await isRaised(found, asked, from)) return;
      if (!record && (await raiseAsOwner(home, found, amounts, { by, asked, from }))) return;
      if (!record || record.epoch === epoch) continue;
      epoch = record.epoch;
      const envelope = stamp(home, home.newId("ask"), by);
      asked.add(envelope.id);
      await put(home, found.dir, { ...envelope, kind: "raise_budget", epoch, amounts });
      await ringSession(found.dir);
    }
  } finally {
    ears.close();
  }
  throw new HoldfastError(
    "process_silent",
    `the process of session ${found.id} did not confirm the new budget`,
  );
}

async function isRaised({ dir }: FoundSession, asked: ReadonlySet<string>, from: Position): Promise<boolean> {
  if (asked.size === 0) return false;
  for await (const { record } of readDurable(dir, { from }))
    if (record.type === "budget_raised" && asked.has(String(record.data["request"]))) return true;
  return false;
}

/** False: another process has the session. */
async function raiseAsOwner(
  home: Home,
  found: FoundSession,
  amounts: Budget,
  { by, asked, from }: { readonly by: string; readonly asked: ReadonlySet<string>; readonly from: Position },
): Promise<boolean> {
  const { id, dir: sessionDir } = found;
  const cut = new CutOutput(sessionDir);
  try {
    const session = await Session.own({ sessionDir, id, io: home.io, outputOfCut: cut.read });
    try {
      await cut.settle(home, session);
      // A session process may have recorded it just before it ended.
      if (!(await isRaised(found, asked, from))) await session.raiseBudgetBy(amounts, { by });
      return true;
    } finally {
      await session.release();
    }
  } catch (error) {
    if (isHoldfastError(error, "session_owned")) return false;
    throw error;
  }
}

/**
 * When the budget was raised, the session process may have been about to park its task. It then parks it
 * although nothing holds it.
 */
async function whenParkedOrNot(home: Home, found: FoundSession, before: SessionState): Promise<SessionState> {
  const ears = new Ears(home, found);
  const patience = deadline(home.io.clock, PARKING_MS);
  // First its files are put into a checkpoint, which may take longer.
  const forFiles = deadline(home.io.clock, RECORD_MS);
  try {
    for (; ; await ears.next()) {
      const { state } = await inspectSession(found.dir);
      const isBetweenTurns = !state.openTurn && taskUnderWay(state) !== null;
      const isLate = isBetweenTurns ? forFiles.isPast : patience.isPast;
      const hasSpent = tokensIn(state.spent) > tokensIn(before.spent);
      if (isLate || hasSpent || parkedIn(state) || !readProcessRecord(found.dir)) return state;
    }
  } finally {
    ears.close();
  }
}
