/**
 * Owns the part of the fold that says what the checks said of which tree, and where the session's work was merged.
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
      // A merge is verified for the branch that it goes into: of the task's own tree it says nothing.
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
  rule(
    "work_merged",
    { into: textIn, commit: textIn, from: textIn },
    { apply: (_, merged: MergeState) => ({ merged, merging: null }) },
  ),
];
