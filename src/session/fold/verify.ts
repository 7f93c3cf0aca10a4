/**
 * Owns the part of the fold about verdicts and merges: what the checks found for which tree, and where work
 * was merged.
 */
import { verdicts } from "../../contract/index.ts";
import type { MergeState } from "../state.ts";
import { amountIn, givenText, textIn } from "./fields.ts";
import { inTask } from "./latest-task.ts";
import { type Rule, rule } from "./rule.ts";

export const verifyRules: readonly Rule[] = [
  rule(
    "verification_ended",
    { task: amountIn, tree: textIn, verdict: textIn, into: givenText },
    {
      // A verdict with `into` is about the merged branch. It does not apply to the task's own tree.
      apply: (state, { task, tree, verdict: said, into }) => {
        const verdict = verdicts.find((one) => one === said);
        const isOwn = task === state.task?.number && into === null;
        return verdict && isOwn ? inTask(state, { verified: { tree, verdict } }) : {};
      },
    },
  ),
  rule(
    "merge_started",
    { into: textIn, commit: textIn, from: textIn },
    { apply: (_, merging: MergeState) => ({ merging }) },
  ),
  rule("merge_given_up", {}, { apply: () => ({ merging: null }) }),
  rule(
    "work_merged",
    { into: textIn, commit: textIn, from: textIn },
    { apply: (_, merged: MergeState) => ({ merged, merging: null }) },
  ),
];
