/**
 * Owns the part of the fold that waits for a person: pending approvals and questions. A request ends with its
 * answer, or with the task that made it. A pending request does not stop the next turn from beginning.
 */
import { type HoldfastError, isUnasked } from "../../contract/index.ts";
import type { PendingRequest, SessionState } from "../state.ts";
import { givenAmount, givenMoment, textIn } from "./fields.ts";
import { type Rule, refuse, rule } from "./rule.ts";

type Pending = SessionState["pending"];
type Grants = SessionState["grants"];
type Asked = Pick<SessionState, "pending" | "grants">;

/** Whether an approval or a question waits for a person. */
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
    { approval: textIn, expiresAt: givenMoment },
    {
      // The time comes from the record, because the fold has no clock.
      refuse: ({ pending }, { approval }, at) =>
        refusalUnlessPending(pending, approval, "approval") ?? refusalOfExpired(pending, approval, at),
      apply: ({ pending, grants }, { approval, expiresAt }) => ({
        pending: withoutRequest(pending, approval),
        grants: { ...grants, ...granted(pending, approval, expiresAt) },
      }),
    },
  ),
  rule(
    "action_begun",
    { approval: textIn, task: givenAmount },
    {
      refuse: ({ grants }, { approval }) => {
        const grant = grantOf(grants, approval);
        if (!grant && isUnasked(approval)) return undefined;
        if (!grant) return refuse("invalid_data", `approval ${approval} is not granted`);
        return grant.hasBegun
          ? refuse("invalid_data", `the action of approval ${approval} has already begun`)
          : undefined;
      },
      apply: ({ grants }, { approval, task }) => {
        const ofNone = { task, fingerprint: "", expiresAt: "", isSpent: false };
        const grant = grantOf(grants, approval) ?? (isUnasked(approval) ? ofNone : undefined);
        return grant ? { grants: { ...grants, [approval]: { ...grant, hasBegun: true } } } : {};
      },
    },
  ),
  rule(
    "approval_spent",
    { approval: textIn },
    {
      apply: ({ grants }, { approval }) => {
        const grant = grantOf(grants, approval);
        return grant ? { grants: { ...grants, [approval]: { ...grant, isSpent: true } } } : {};
      },
    },
  ),
  rule(
    "action_ended",
    { approval: textIn },
    {
      apply: ({ grants }, { approval }) => {
        const grant = grantOf(grants, approval);
        // It was refused before anything was done, so the grant permits it still.
        if (grant && !grant.isSpent && !isUnasked(approval))
          return { grants: { ...grants, [approval]: { ...grant, hasBegun: false } } };
        return { grants: only(grants, (_, other) => other !== approval) };
      },
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
  // A late answer is accepted too: an answer permits nothing.
  rule(
    "question_answered",
    { question: textIn },
    {
      refuse: ({ pending }, { question }) => refusalUnlessPending(pending, question, "question"),
      apply: ({ pending }, { question }) => ({ pending: withoutRequest(pending, question) }),
    },
  ),
];

/** Removes the task's requests and grants; they end with it. */
export function withoutTask({ pending, grants }: Asked, task: number): Asked {
  const isOfAnother = (of: { readonly task: number | null }) => of.task !== task;
  return { pending: only(pending, isOfAnother), grants: only(grants, isOfAnother) };
}

/**
 * Removes the requests and grants of all tasks, even of a task that never ended. For the start of a new task.
 */
export function ofNoTask({ pending }: Asked): Asked {
  return { pending: only(pending, ({ task }) => task === null), grants: {} };
}

function granted(pending: Pending, id: string, expiresAt: string | null): Grants {
  const request = requestOf(pending, id);
  if (!request) return {};
  const { task, fingerprint } = request;
  // A request without an expiry was written by an earlier version, and can't be spent.
  const isNew = { hasBegun: false, isSpent: false };
  return { [id]: { task, fingerprint: fingerprint ?? "", expiresAt: expiresAt ?? "", ...isNew } };
}

const grantOf = (grants: Grants, id: string) => (Object.hasOwn(grants, id) ? grants[id] : undefined);

function withoutRequest(pending: Pending, id: string): Pending {
  return only(pending, (_request, other) => other !== id);
}

function only<V>(all: Readonly<Record<string, V>>, isLeft: (one: V, id: string) => boolean) {
  return Object.fromEntries(Object.entries(all).filter(([id, one]) => isLeft(one, id)));
}

/** A request that names no task belongs to the task that is under way. */
function asked({ pending, task }: SessionState, id: string, request: PendingRequest): Partial<SessionState> {
  const underWay = task?.outcome === null ? task.number : null;
  return { pending: { ...pending, [id]: { ...request, task: request.task ?? underWay } } };
}

/** Refuses a second request with the same id: what a person was first shown must not change. */
function refusalOfAnother(pending: Pending, id: string): HoldfastError | undefined {
  return requestOf(pending, id) && refuse("invalid_data", `request ${id} is already pending`);
}

function refusalUnlessPending(
  pending: Pending,
  id: string,
  kind: PendingRequest["kind"],
): HoldfastError | undefined {
  return requestOf(pending, id)?.kind === kind
    ? undefined
    : refuse("invalid_data", `no ${kind} ${id} is pending`);
}

function refusalOfExpired(pending: Pending, id: string, at: string): HoldfastError | undefined {
  const expiresAt = requestOf(pending, id)?.expiresAt ?? null;
  return expiresAt === null || at < expiresAt
    ? undefined
    : refuse("invalid_data", `request ${id} has expired`, { expiresAt });
}

const requestOf = (pending: Pending, id: string) => (Object.hasOwn(pending, id) ? pending[id] : undefined);
