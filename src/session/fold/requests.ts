/**
 * Owns the part of the fold that waits for a person: approvals and questions that are due. A request ends with its
 * answer, or with the task that it was made in. That one is due keeps no turn from beginning.
 */
import type { HoldfastError } from "../../contract/index.ts";
import type { PendingRequest, SessionState } from "../state.ts";
import { givenAmount, givenMoment, textIn } from "./fields.ts";
import { type Rule, refuse, rule } from "./rule.ts";

type Pending = SessionState["pending"];

/** Whether a person is to decide or to answer something. */
export const isWaiting = ({ pending }: Pick<SessionState, "pending">) => Object.keys(pending).length > 0;

export const requestRules: readonly Rule[] = [
  rule(
    "approval_requested",
    { approval: textIn, fingerprint: textIn, task: givenAmount, expiresAt: givenMoment },
    {
      refuse: ({ pending }, { approval }) => refusalOfAnother(pending, approval),
      apply: (state, { approval, fingerprint, task, expiresAt }) =>
        asked(state, approval, { kind: "approval", task, fingerprint, expiresAt }),
    },
  ),
  rule(
    "approval_granted",
    { approval: textIn },
    {
      // By the time of the record, because the fold has no clock.
      refuse: ({ pending }, { approval }, at) =>
        refusalUnlessPending(pending, approval, "approval") ?? refusalOfExpired(pending, approval, at),
      apply: ({ pending }, { approval }) => ({ pending: withoutRequest(pending, approval) }),
    },
  ),
  rule(
    "approval_denied",
    { approval: textIn },
    {
      refuse: ({ pending }, { approval }) => refusalUnlessPending(pending, approval, "approval"),
      apply: ({ pending }, { approval }) => ({ pending: withoutRequest(pending, approval) }),
    },
  ),
  rule(
    "approval_expired",
    { approval: textIn },
    {
      refuse: ({ pending }, { approval }) => refusalUnlessPending(pending, approval, "approval"),
      apply: ({ pending }, { approval }) => ({ pending: withoutRequest(pending, approval) }),
    },
  ),
  rule(
    "question_asked",
    { question: textIn, task: givenAmount, expiresAt: givenMoment },
    {
      refuse: ({ pending }, { question }) => refusalOfAnother(pending, question),
      apply: (state, { question, task, expiresAt }) =>
        asked(state, question, { kind: "question", task, fingerprint: null, expiresAt }),
    },
  ),
  // Also when it comes late: an answer permits nothing.
  rule(
    "question_answered",
    { question: textIn },
    {
      refuse: ({ pending }, { question }) => refusalUnlessPending(pending, question, "question"),
      apply: ({ pending }, { question }) => ({ pending: withoutRequest(pending, question) }),
    },
  ),
];

/** Requests end with their task. */
export function withoutTask(pending: Pending, task: number): Pending {
  return only(pending, (request) => request.task !== task);
}

/** A new task leaves those of the tasks before it behind, also of one that never ended. */
export function ofNoTask(pending: Pending): Pending {
  return only(pending, ({ task }) => task === null);
}

function withoutRequest(pending: Pending, id: string): Pending {
  return only(pending, (_request, other) => other !== id);
}

function only(pending: Pending, isLeft: (request: PendingRequest, id: string) => boolean): Pending {
  return Object.fromEntries(Object.entries(pending).filter(([id, request]) => isLeft(request, id)));
}

/** Without a word about its task, it is of the one that is under way. */
function asked({ pending, task }: SessionState, id: string, request: PendingRequest): Partial<SessionState> {
  const underWay = task?.outcome === null ? task.number : null;
  return { pending: { ...pending, [id]: { ...request, task: request.task ?? underWay } } };
}

/** What a request asks for stays as it was when a person was first shown it. */
function refusalOfAnother(pending: Pending, id: string): HoldfastError | undefined {
  return requestOf(pending, id) && refuse("invalid_data", `${id} is pending already`);
}

function refusalUnlessPending(
  pending: Pending,
  id: string,
  kind: PendingRequest["kind"],
): HoldfastError | undefined {
  return requestOf(pending, id)?.kind === kind ? undefined : refuse("invalid_data", `${id} is not pending`);
}

function refusalOfExpired(pending: Pending, id: string, at: string): HoldfastError | undefined {
  const expiresAt = requestOf(pending, id)?.expiresAt ?? null;
  return expiresAt === null || at < expiresAt
    ? undefined
    : refuse("invalid_data", `${id} has expired`, { expiresAt });
}

const requestOf = (pending: Pending, id: string) => (Object.hasOwn(pending, id) ? pending[id] : undefined);
