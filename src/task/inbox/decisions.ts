/**
 * Owns recording what a person decided: a grant, a denial or an answer. The owner of the session records it:
 * its process, or a dispatcher.
 *
 * decision-1 A grant is recorded only if the operator's key signed it for exactly the record that asked, and
 *    in time.
 * decision-2 A decision that is made twice is recorded once; a later one with the same content changes
 *    nothing.
 * decision-3 If no call of the agent that asked waits for it, the agent gets it as a message, once, in the same
 *    batch as the decision.
 */
import { readOperatorPublicKey, timeAfter, verifyGrant } from "../../approval/index.ts";
import {
  type Grant,
  grantSchema,
  HoldfastError,
  isHoldfastError,
  type JournalRecord,
  type Json,
} from "../../contract/index.ts";
import { type Home, sessionDirOf } from "../../home/index.ts";
import { findLastRecord, type Session, taskUnderWay, textIn } from "../../session/index.ts";

/** Of a question: enough to know which one it is. */
const MAX_QUOTED = 1000;

export type Decision =
  | { readonly kind: "grant"; readonly grant: Json }
  | { readonly kind: "deny"; readonly approval: string; readonly reason: string }
  | { readonly kind: "answer"; readonly question: string; readonly text: string };

export interface Decided {
  readonly decision: Decision;
  readonly by: string;
  /** Whether a call of the agent waits for this request. Without a process of the session, none can. */
  readonly isAwaited?: (request: string) => boolean;
}

/** The id of the request that it decides; empty for a malformed grant. */
export function subjectOf(decision: Decision): string {
  switch (decision.kind) {
    case "grant":
      return grantSchema.safeParse(decision.grant).data?.approval ?? "";
    case "deny":
      return decision.approval;
    case "answer":
      return decision.question;
  }
}

/**
 * For the session's owner. Throws `grant_invalid` or `approval_not_found` when the decision can't be
 * recorded.
 */
export async function recordDecision(home: Home, session: Session, decided: Decided): Promise<void> {
  const { decision, by } = decided;
  const subject = subjectOf(decision);
  const request = await requestRecord(home, session, subject);
  if (!request)
    throw new HoldfastError("approval_not_found", `the session has no request ${JSON.stringify(subject)}`);
  // decision-2: a kill may have come after the record and before the file was moved away.
  if (!Object.hasOwn(session.state.pending, subject)) {
    if (await isOnRecord(home, session, decision)) return;
    throw new HoldfastError(
      "approval_not_found",
      `${subject} is no longer pending: it was decided, or its task is over`,
    );
  }
  switch (decision.kind) {
    case "grant": {
      const grant = verified(home, session, decision.grant, request);
      const { approval, expiresAt } = grant;
      const granted = { approval, by: grant.by, grant: { ...grant }, expiresAt };
      return record(home, session, decided, request, () => session.append("approval_granted", granted));
    }
    case "deny": {
      const { approval, reason } = decision;
      const denied = { approval, by, reason };
      return record(home, session, decided, request, () => session.append("approval_denied", denied));
    }
    case "answer": {
      const { question, text } = decision;
      const answered = { question, by, text };
      return record(home, session, decided, request, () => session.append("question_answered", answered));
    }
  }
}

/** decision-3 */
async function record(
  home: Home,
  session: Session,
  { decision, by, isAwaited }: Decided,
  request: JournalRecord,
  append: () => Promise<unknown>,
): Promise<void> {
  const about = subjectOf(decision);
  const task = session.state.pending[about]?.task ?? null;
  const tell = async () => {
    const text = decisionText(decision, by, request);
    const of = task === null ? {} : { about };
    await session.append("message_received", { message: home.newId("msg"), from: by, text, ...of });
  };
  // A harness that asked without a task looks when it comes back. An agent is gone with its task.
  const hasReader = task === null ? !isAwaited : task === taskUnderWay(session.state)?.number;
  if (!hasReader || !isAwaited?.(about)) {
    await Promise.all([append(), ...(hasReader ? [tell()] : [])]);
    return;
  }
  // The call may give up until the decision is on disk.
  let isHeard = false;
  const unobserve = session.observe((records) => {
    if (records.some((one) => isDecisionOn(about, one))) isHeard = isAwaited(about);
  });
  await append().finally(unobserve);
  if (!isHeard) await tell();
}

/** The agent has acted on the decision, so the message about it is read, if there is one. */
export async function enterDecision(session: Session, request: string): Promise<void> {
  const { unread, openTurn } = session.state;
  const told = unread.find(({ about, isHanded }) => about === request && !isHanded);
  if (!told) return;
  const of = { message: told.message, ...(openTurn && { turn: openTurn.turn }) };
  await session.append("message_entered_context", { ...of, certain: true }).catch((error: unknown) => {
    // The agent has confirmed it at the same time.
    if (!isHoldfastError(error, "invalid_data")) throw error;
  });
}

/** decision-1 */
function verified(home: Home, session: Session, grant: Json, { seq, hash, data }: JournalRecord): Grant {
  const expected = {
    approval: textIn(data["approval"]),
    fingerprint: textIn(data["fingerprint"]),
    request: { seq, hash },
    home: home.id,
    session: session.id,
  };
  const nowMs = timeAfter(home.io.clock.nowMs(), session.state.updatedAt);
  return verifyGrant(readOperatorPublicKey(home.dir), grant, expected, nowMs);
}

function requestRecord(home: Home, { id }: Session, subject: string): Promise<JournalRecord | undefined> {
  return findLastRecord(
    sessionDirOf(home, id),
    ({ type, data }) =>
      (type === "approval_requested" && data["approval"] === subject) ||
      (type === "question_asked" && data["question"] === subject),
  );
}

const RECORDED = { grant: "approval_granted", deny: "approval_denied", answer: "question_answered" } as const;

function isDecisionOn(subject: string, { type, data }: JournalRecord): boolean {
  const isDecision = Object.values(RECORDED).some((recorded) => recorded === type);
  return isDecision && (data["approval"] === subject || data["question"] === subject);
}

/** Whether the last record about it is a decision of this kind. */
async function isOnRecord(home: Home, { id }: Session, decision: Decision): Promise<boolean> {
  const subject = subjectOf(decision);
  const last = await findLastRecord(sessionDirOf(home, id), (record) => isDecisionOn(subject, record));
  return last?.type === RECORDED[decision.kind];
}

/** What the agent reads of a decision. */
function decisionText(decision: Decision, by: string, { data }: JournalRecord): string {
  const approval = `Approval ${textIn(data["approval"])} of ${textIn(data["tool"])}`;
  switch (decision.kind) {
    case "grant":
      return `${approval} was granted by ${by}: make the same call again within ten minutes.`;
    case "deny":
      return `${approval} was denied by ${by}${decision.reason === "" ? "" : `: ${decision.reason}`}`;
    case "answer":
      return `Answer to "${quoted(textIn(data["text"]))}": ${decision.text}`;
  }
}

const quoted = (text: string) =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…`.toWellFormed() : text;
