/**
 * Owns the way back into a session that is there, as its owner: whether it may go on, and that its journal says so.
 * It brings no files: `task/` does.
 */
import { type Budget, HoldfastError } from "../contract/index.ts";
import {
  assertRaised,
  budgetReached,
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

export interface ResumeOptions {
  readonly user?: string;
  /** Raised before the session goes on. */
  readonly budget?: Budget;
  /** End the process that has the session open, if there is one. */
  readonly takeOver?: boolean;
  /** Who saw that it had crashed, if that was no person. */
  readonly by?: string;
  /** Only one that nobody has paused, closed or given away meanwhile. */
  readonly onlyIfWorking?: boolean;
  /** Opened or resumed just now by whoever hands it over: there is nothing to record, if it is in order. */
  readonly isHandedOver?: boolean;
  /** What is known of the output of calls that a crash cut off. */
  readonly outputOfCut?: (state: SessionState) => string;
}

const RESUME = [
  "user",
  "budget",
  "takeOver",
  "by",
  "onlyIfWorking",
  "isHandedOver",
  "outputOfCut",
] satisfies (keyof ResumeOptions)[];

export async function resumeSession(
  home: Home,
  idText: string,
  options: ResumeOptions = {},
): Promise<Session> {
  assertKnown(options, RESUME);
  const { id, dir } = await findSession(home, idText, options.user);
  let before: SessionState | undefined;
  const session = await Session.own({
    sessionDir: dir,
    id,
    io: home.io,
    takeOver: options.takeOver ?? false,
    ...present({ outputOfCut: options.outputOfCut }),
    admit: (state) => {
      before = state;
      if (options.onlyIfWorking && !working.includes(state.status))
        throw new HoldfastError("illegal_transition", `the session is ${state.status} by now`, {
          status: state.status,
        });
      assertResumable(state, options.budget ?? {});
    },
  });
  try {
    if (options.budget) await session.raiseBudget(options.budget);
    const { tornBytes, brokenFile } = session.recovery;
    const from = before ? shownStatus(before, false) : "open";
    const torn = tornBytes > 0 ? { tornBytes, ...present({ brokenFile }) } : {};
    const isAtRest = before && working.includes(before.status) && !before.openTurn && !isWaiting(before);
    const isInOrder = isAtRest && tornBytes === 0 && options.by === undefined;
    if (!isInOrder || !options.isHandedOver)
      await session.append("session_resumed", { from, ...torn, ...present({ by: options.by }) });
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
      `${state.handoff?.to} has its files: holdfast handoff ${state.name ?? state.id} --return takes them back`,
      { directory: state.handoff?.directory, status: state.status },
    );
  if (nextStatus(state.status, "session_resumed") === undefined) {
    throw new HoldfastError("illegal_transition", `a session that is ${state.status} can't be resumed`, {
      status: state.status,
    });
  }
  assertRaised(state, raise);
  const limits = reachedLimits({ ...state, budget: { ...state.budget, ...raise } });
  if (limits.length > 0) throw budgetReached(limits);
}

/** Whether retention and gc leave it alone. Nothing else of it changes, and it need not be resumed for it. */
export async function keepSession(home: Home, idText: string, isKept: boolean, user?: string): Promise<void> {
  const { id, dir } = await findSession(home, idText, user);
  const session = await Session.own({ sessionDir: dir, id, io: home.io });
  try {
    if (session.state.isKept !== isKept) await session.append("session_kept", { isKept });
  } finally {
    await session.release();
  }
}
