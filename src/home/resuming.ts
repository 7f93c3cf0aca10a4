/**
 * Owns resuming an existing session as its owner: whether it may go on, and the records of that. It does not
 * restore files; `task/` does.
 */
import { type Budget, HoldfastError } from "../contract/index.ts";
import {
  assertRaised,
  budgetReached,
  emptyState,
  hasActed,
  isWaiting,
  nextStatus,
  reachedLimits,
  Session,
  type SessionState,
  working,
} from "../session/index.ts";
import { assertKnown, present } from "../util/index.ts";
import { findSession } from "./finding.ts";
import type { Home } from "./home.ts";
import { shownStatus } from "./status.ts";

/** How the caller becomes the owner of an existing session. */
export interface TakeUpOptions {
  readonly user?: string;
  /** The program that noticed the crash; undefined when a person resumes the session. */
  readonly by?: string;
  /** Returns the known output of the calls that a crash cut off. */
  readonly outputOfCut?: (state: SessionState) => string;
}

export interface ResumeOptions extends TakeUpOptions {
  /** Applied before the session goes on. */
  readonly budget?: Budget;
  /** Ends the process that has the session open, if there is one. */
  readonly takeOver?: boolean;
}

const RESUME = ["user", "budget", "takeOver", "by", "outputOfCut"] satisfies (keyof ResumeOptions)[];

/** A person, or a program for them, goes on with the session. */
export async function resumeSession(
  home: Home,
  idText: string,
  options: ResumeOptions = {},
): Promise<Session> {
  assertKnown("resumeSession", options, RESUME);
  const { budget, by } = options;
  const { session, before } = await own(home, idText, options, (state) =>
    assertResumable(state, budget ?? {}),
  );
  return orReleased(session, async () => {
    if (budget) await session.raiseBudget(budget);
    await recordResumed(session, before, by);
  });
}

/**
 * A process takes over a session that was just opened or resumed for it, which is already recorded. It
 * records only what it finds out of order. A session that was paused, closed or handed off meanwhile is
 * refused.
 */
export async function takeUpSession(home: Home, idText: string, options: TakeUpOptions): Promise<Session> {
  const { by } = options;
  const { session, before } = await own(home, idText, options, (state) => {
    if (!working.includes(state.status))
      throw new HoldfastError("illegal_transition", `the session is ${state.status} and can't be continued`, {
        status: state.status,
      });
    assertResumable(state, {});
  });
  const isInOrder = !before.openTurn && !isWaiting(before) && session.recovery.tornBytes === 0;
  return orReleased(session, async () => {
    if (!isInOrder || by !== undefined) await recordResumed(session, before, by);
  });
}

async function own(
  home: Home,
  idText: string,
  options: TakeUpOptions & Pick<ResumeOptions, "takeOver">,
  assertMay: (state: SessionState) => void,
): Promise<{ readonly session: Session; readonly before: SessionState }> {
  const { id, dir } = await findSession(home, idText, options.user);
  let before = emptyState;
  const session = await Session.own({
    sessionDir: dir,
    id,
    io: home.io,
    takeOver: options.takeOver ?? false,
    ...present({ outputOfCut: options.outputOfCut }),
    admit: (state) => {
      before = state;
      assertMay(state);
    },
  });
  return { session, before };
}

async function recordResumed(session: Session, before: SessionState, by: string | undefined): Promise<void> {
  const { tornBytes, brokenFile } = session.recovery;
  const torn = tornBytes > 0 ? { tornBytes, ...present({ brokenFile }) } : {};
  await session.append("session_resumed", { from: shownStatus(before, false), ...torn, ...present({ by }) });
}

async function orReleased(session: Session, work: () => Promise<void>): Promise<Session> {
  try {
    await work();
    return session;
  } catch (error) {
    await session.release();
    throw error;
  }
}

function assertResumable(state: SessionState, raise: Budget): void {
  if (state.status === "handed_off")
    throw new HoldfastError(
      "handoff_open",
      `${state.handoff?.to} has the session's files: take them back with holdfast handoff ${state.name ?? state.id} --return`,
      { directory: state.handoff?.directory, status: state.status },
    );
  if (nextStatus(state.status, "session_resumed") === undefined) {
    throw new HoldfastError("illegal_transition", `a session that is ${state.status} can't be resumed`, {
      status: state.status,
    });
  }
  assertRaised(state, raise);
  const limits = reachedLimits({ ...state, budget: { ...state.budget, ...raise } });
  if (limits.length > 0 && !hasActed(state)) throw budgetReached(limits);
}

/**
 * Sets whether retention and gc leave the session alone. Nothing else changes, and it need not be resumed.
 */
export async function keepSession(home: Home, idText: string, isKept: boolean, user?: string): Promise<void> {
  const { id, dir } = await findSession(home, idText, user);
  const session = await Session.own({ sessionDir: dir, id, io: home.io });
  try {
    if (session.state.isKept !== isKept) await session.append("session_kept", { isKept });
  } finally {
    await session.release();
  }
}
