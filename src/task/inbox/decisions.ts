/**
 * Owns recording what a person decided: a grant, a denial or an answer. The owner of the session records it:
 * its process, or a dispatcher.
 *
 * decision-1 A grant is recorded only if the operator's key signed it for exactly the record that asked, and
 *    in time.
 * decision-2 A decision that is made twice is recorded once; a later one with the same content changes
 *    nothing.
 * decision-3 If no call of the agent waits for it, the agent gets it as a message, in the same batch as the
 *    decision.
 */
import { readOperatorPublicKey, timeAfter, verifyGrant } from "../../approval/index.ts";
import {
  type Grant,
  grantSchema,
  HoldfastError,
  type JournalRecord,
  type Json,
} from "../../contract/index.ts";
import { type Home, sessionDirOf } from "../../home/index.ts";
import { findLastRecord, type Session, taskUnderWay, textIn } from "../../session/index.ts";

export type Decision =
  | { readonly kind: "grant"; readonly grant: Json }
  | { readonly kind: "deny"; readonly approval: string; readonly reason: string }
  | { readonly kind: "answer"; readonly question: string; readonly text: string };

export interface Decided {
  readonly decision: Decision;
  readonly by: string;
  /** There is no process whose agent could have a call waiting. */
  readonly isWithoutProcess?: boolean;
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
  const { decision, by, isWithoutProcess = false } = decided;
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
  const told = isWithoutProcess || taskUnderWay(session.state)?.parked;
  const tell = async (text: string) => {
    if (told) await session.append("message_received", { message: home.newId("msg"), from: by, text });
  };
  switch (decision.kind) {
    case "grant": {
      const grant = verified(home, session, decision.grant, request);
      const { approval, expiresAt } = grant;
      await Promise.all([
        session.append("approval_granted", { approval, by: grant.by, grant: { ...grant }, expiresAt }),
        tell(grantedText(approval, request, grant)),
      ]);
      return;
    }
    case "deny": {
      const { approval, reason } = decision;
      const words = `${approvalText(approval, request)} was denied by ${by}${reason === "" ? "" : `: ${reason}`}`;
      await Promise.all([session.append("approval_denied", { approval, by, reason }), tell(words)]);
      return;
    }
    case "answer": {
      const { question, text } = decision;
      const words = `Answer to "${textIn(request.data["text"])}": ${text}`;
      await Promise.all([session.append("question_answered", { question, by, text }), tell(words)]);
      return;
    }
  }
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

/** Whether the last record about it is a decision of this kind. */
async function isOnRecord(home: Home, { id }: Session, decision: Decision): Promise<boolean> {
  const subject = subjectOf(decision);
  const last = await findLastRecord(
    sessionDirOf(home, id),
    ({ type, data }) =>
      Object.values(RECORDED).some((recorded) => recorded === type) &&
      (data["approval"] === subject || data["question"] === subject),
  );
  return last?.type === RECORDED[decision.kind];
}

const approvalText = (approval: string, { data }: JournalRecord) =>
  `Approval ${approval} of ${textIn(data["tool"])}`;

function grantedText(approval: string, request: JournalRecord, { by }: Grant): string {
  return `${approvalText(approval, request)} was granted by ${by}: make the same call again within ten minutes.`;
}
