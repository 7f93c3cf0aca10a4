/**
 * Owns the part of the fold about a parked task: why it is parked, and until when. A parked task is still
 * under way. A task is not parked for a request that was decided meanwhile: nothing would let it go on.
 */
import type { SessionState } from "../state.ts";
import { amountIn, momentIn, parkReasonIn, textOrNull, textsIn } from "./fields.ts";
import { inTask, refusalUnlessUnderWay } from "./latest-task.ts";
import { type Rule, refuse, rule } from "./rule.ts";
import { refusalWhileOpen } from "./turn.ts";

export const parkingRules: readonly Rule[] = [
  rule(
    "task_parked",
    { task: amountIn, reason: parkReasonIn, until: momentIn, detail: textOrNull, requests: textsIn },
    {
      refuse: (state, { task, requests }) =>
        refusalUnlessUnderWay(state, task) ??
        refusalWhileOpen(state.openTurn) ??
        (state.task?.parked ? refuse("invalid_data", `task ${task} is already parked`) : undefined) ??
        refusalIfDecided(state, requests),
      apply: (state, { reason, until, detail }) => inTask(state, { parked: { reason, until, detail } }),
    },
  ),
  rule(
    "task_unparked",
    { task: amountIn },
    {
      refuse: (state, { task }) =>
        refusalUnlessUnderWay(state, task) ??
        (state.task?.parked ? undefined : refuse("invalid_data", `task ${task} is not parked`)),
      apply: (state) => inTask(state, { parked: null }),
    },
  ),
];

function refusalIfDecided({ pending }: SessionState, requests: readonly string[]) {
  const decided = requests.find((one) => !Object.hasOwn(pending, one));
  return decided === undefined
    ? undefined
    : refuse("approval_not_found", `${decided} is no longer pending, so the task goes on`);
}
