/**
 * Owns the order of a worker's steps. First everything is checked that can be, so that no grant is spent in
 * vain. Then the grant is spent, then the action happens, then its outcome is written to disk, and then it is
 * reported.
 *
 * A kill before the spending leaves nothing. A kill after it leaves a spent grant without an outcome, which a
 * person is asked about. A kill after the outcome leaves the outcome.
 */
import { HoldfastError, parseSessionId, type Values } from "../contract/index.ts";
import { openHome } from "../home/index.ts";
import type { ToolOutcome } from "../lane/index.ts";
import { writeOutcome } from "./actions.ts";
import { readCredentials, withoutCredentials } from "./credentials.ts";
import { assertMayAct, use } from "./may-act.ts";
import type { Declaration, Order } from "./order.ts";
import type { Planner } from "./plan.ts";
import { planCommand } from "./steps/command.ts";
import { planRequest } from "./steps/http.ts";
import { planPush } from "./steps/push.ts";

const planners: Readonly<Record<Declaration["kind"], Planner>> = {
  command: planCommand,
  gh_pr_create: planCommand,
  git_push: planPush,
  http_request: planRequest,
};

/** Fails with a HoldfastError if nothing happened. */
export async function carryOut(order: Order, signal: AbortSignal): Promise<ToolOutcome> {
  const { action, declaration, sessionDir, id } = order;
  const home = await openHome({ home: order.homeDir, create: false });
  await assertMayAct(home, order);
  const values = await readCredentials(home, parseSessionId(action.session), declaration);
  const act = await planners[declaration.kind](order, values);
  if (signal.aborted)
    throw new HoldfastError("interrupted", "the call was cancelled before anything was done");
  if (!(await use(order)))
    throw new HoldfastError("grant_invalid", `${id} was already spent, so nothing was done again`);
  // From here on the action may have happened, so no later failure may be reported as if nothing had been
  // done.
  const outcome = clean(values, await act(signal).catch(failed));
  return writeOutcome(sessionDir, action.task, id, outcome).then(
    () => outcome,
    (error: unknown) => notWritten(outcome, error),
  );
}

/** If it can't be cleaned, nothing of its text may be shown. */
function clean(values: Values, done: ToolOutcome): ToolOutcome {
  try {
    return withoutCredentials(values, done);
  } catch {
    return failed("its outcome could not be read");
  }
}

/** A resume will find no outcome, so this report is all that there is. */
function notWritten({ text, facts }: ToolOutcome, error: unknown): ToolOutcome {
  const why = error instanceof Error ? error.message : String(error);
  return {
    outcome: "error",
    text: `${text}\n(the outcome could not be saved: ${why})`,
    facts: { ...facts, isUnknown: true },
  };
}

/** The action was begun: it is not known what it did before it failed. */
function failed(error: unknown): ToolOutcome {
  const why =
    error instanceof HoldfastError
      ? `${error.code}: ${error.message}`
      : `an internal error: ${String(error)}`;
  return { outcome: "error", text: why, facts: { isUnknown: true } };
}
