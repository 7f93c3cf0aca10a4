/**
 * Owns the part of the fold about a parked task: why it is parked, and until when. A parked task is still
 * under way.
 */
import { amountIn, momentIn, parkReasonIn, textOrNull } from "./fields.ts";
import { inTask, refusalUnlessUnderWay } from "./latest-task.ts";
import { type Rule, refuse, rule } from "./rule.ts";
import { refusalWhileOpen } from "./turn.ts";

export const parkingRules: readonly Rule[] = [
  rule(
    "task_parked",
    { task: amountIn, reason: parkReasonIn, until: momentIn, detail: textOrNull },
    {
      refuse: (state, { task }) =>
        refusalUnlessUnderWay(state, task) ??
        refusalWhileOpen(state.openTurn) ??
        (state.task?.parked ? refuse("invalid_data", `task ${task} is already parked`) : undefined),
      apply: (state, { task: _, ...parked }) => inTask(state, { parked }),
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
