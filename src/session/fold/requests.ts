/**
 * Owns the part of the fold that waits for a person: approvals and questions that are due.
 */
import type { HoldfastError } from "../../contract/index.ts";
import type { SessionState } from "../state.ts";
import { textIn } from "./fields.ts";
import { type Rule, refuse, rule } from "./rule.ts";
import { without } from "./turn.ts";

type Kind = SessionState["pending"][string];

const answer = {
  refuse: (state: SessionState, { approval }: { readonly approval: string }) =>
    refusalUnlessPending(state, approval, "approval"),
  apply: (state: SessionState, { approval }: { readonly approval: string }) => settled(state, approval),
};

export const requestRules: readonly Rule[] = [
  rule(
    "approval_requested",
    { approval: textIn },
    { apply: ({ pending }, { approval }) => ({ pending: { ...pending, [approval]: "approval" } }) },
  ),
  rule("approval_granted", { approval: textIn }, answer),
  rule("approval_denied", { approval: textIn }, answer),
  rule("approval_expired", { approval: textIn }, answer),
  rule(
    "question_asked",
    { question: textIn },
    { apply: ({ pending }, { question }) => ({ pending: { ...pending, [question]: "question" } }) },
  ),
  rule(
    "question_answered",
    { question: textIn },
    {
      refuse: (state, { question }) => refusalUnlessPending(state, question, "question"),
      apply: (state, { question }) => settled(state, question),
    },
  ),
];

function refusalUnlessPending({ pending }: SessionState, id: string, kind: Kind): HoldfastError | undefined {
  return pending[id] === kind ? undefined : refuse("invalid_data", `${id} is not pending`);
}

/** A request that was answered; with the last one the session goes on. */
function settled(state: SessionState, id: string): Partial<SessionState> {
  const pending = without(state.pending, id);
  const isDone = Object.keys(pending).length === 0 && state.status === "waiting";
  return isDone ? { pending, status: "active" } : { pending };
}
