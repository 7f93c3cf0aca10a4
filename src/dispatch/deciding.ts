/**
 * Owns what a person decides about a request of a session. If the session has a process, that process records
 * the decision; otherwise it is recorded here. A task that was parked for it then goes on. A request is
 * decided once, wherever that is recorded: the fold knows that the request no longer waits, and a decision
 * that comes again after a kill is recognized by its record.
 */
import { HoldfastError, isHoldfastError, type JournalRecord } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { CutOutput } from "../host/index.ts";
import { type Position, readDurable } from "../journal/index.ts";
import type { LocalHome } from "../library/index.ts";
import type { EnvelopeOf } from "../mail/index.ts";
import { inspectSession, Session, type SessionState } from "../session/index.ts";
import { type Decision, recordDecision, subjectOf } from "../task/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { parkedIn } from "./parked-text.ts";
import { put, ringSession, stamp } from "./post.ts";
import { type Resumed, resumeProcess } from "./resuming.ts";

/**
 * The session process looks into its inbox and writes a record in a moment. If it takes longer than this,
 * something is wrong.
 */
const RECORD_MS = 10_000;

export interface DecisionMade {
  readonly state: SessionState;
  /**
   * For a session whose task was parked for it: what `resume` would report. Null if it was not parked, or
   * still is.
   */
  readonly process: Resumed["process"] | null;
}

/** Resolves when the record is on disk. */
export async function decide(
  home: Home,
  holdfast: LocalHome,
  found: FoundSession,
  decision: Decision,
): Promise<DecisionMade> {
  const { position } = await inspectSession(found.dir);
  await record(home, found, decision, position);
  const { state } = await inspectSession(found.dir);
  if (!goesOn(state)) return { state, process: null };
  return resumeProcess(home, holdfast, found, { user: found.user });
}

/** The task goes on even if other requests of it still wait: a grant expires too soon to wait for them. */
function goesOn(state: SessionState): boolean {
  const reason = parkedIn(state)?.reason;
  return reason === "approval" || reason === "answer";
}

async function record(home: Home, found: FoundSession, decision: Decision, from: Position): Promise<void> {
  const envelope = envelopeOf(home, found, decision);
  let isPut = false;
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, RECORD_MS); !patience.isPast; await ears.next()) {
      if (isPut && (await isDecided(found, envelope, from))) return;
      if (!readProcessRecord(found.dir)) {
        if (await decideAsOwner(home, found, decision)) return;
        continue;
      }
      if (isPut) continue;
      await put(home, found.dir, envelope);
      isPut = true;
      await ringSession(found.dir);
    }
  } finally {
    ears.close();
  }
  throw new HoldfastError(
    "process_silent",
    `the process of session ${found.id} did not confirm the decision`,
  );
}

type DecisionEnvelope = EnvelopeOf<"grant" | "deny" | "answer">;

function envelopeOf(home: Home, found: FoundSession, decision: Decision): DecisionEnvelope {
  return { ...stamp(home, home.newId("ask"), `user:${found.user}`), ...decision };
}

const RECORDED = {
  grant: "approval_granted",
  deny: "approval_denied",
  answer: "question_answered",
} as const satisfies Record<DecisionEnvelope["kind"], string>;

const decidedOtherwise = (subject: string) =>
  new HoldfastError("approval_not_found", `${subject} was already decided, in another way`);

const DECIDING = ["approval_granted", "approval_denied", "question_answered", "message_set_aside"];

/** Throws if the session process has set the decision aside. */
async function isDecided(
  { dir }: FoundSession,
  envelope: DecisionEnvelope,
  from: Position,
): Promise<boolean> {
  const subject = subjectOf(envelope);
  for await (const { record: one } of readDurable(dir, { from })) {
    if (!DECIDING.includes(one.type)) continue;
    if (one.type === "message_set_aside" && one.data["message"] === envelope.id) throw refused(one);
    if (one.data["approval"] !== subject && one.data["question"] !== subject) continue;
    // Another decision may have come first.
    if (one.type !== RECORDED[envelope.kind]) throw decidedOtherwise(subject);
    return true;
  }
  return false;
}

function refused({ data }: JournalRecord): HoldfastError {
  return new HoldfastError("grant_invalid", String(data["reason"]));
}

/** False: another process has the session. */
async function decideAsOwner(home: Home, found: FoundSession, decision: Decision): Promise<boolean> {
  const { id, dir: sessionDir } = found;
  const cut = new CutOutput(sessionDir);
  try {
    const session = await Session.own({ sessionDir, id, io: home.io, outputOfCut: cut.read });
    try {
      await cut.settle(home, session);
      await recordDecision(home, session, { decision, by: `user:${found.user}` });
      return true;
    } finally {
      await session.release();
    }
  } catch (error) {
    if (isHoldfastError(error, "session_owned")) return false;
    throw error;
  }
}
