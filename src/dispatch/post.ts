/**
 * Owns putting a message into a session's inbox, and ringing its process.
 *
 * message-1 A message is acknowledged when it is on disk in the inbox; carried again after a kill, it arrives
 *           once.
 * message-2 It lies there without secrets, because it may lie there for long.
 */
import { HoldfastError, isSessionId, type TaskSpec } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import {
  assertMessageSize,
  decodeEnvelope,
  type Envelope,
  type EnvelopeOf,
  encodeEnvelope,
  idOf,
  knock,
  MAX_WAITING,
  MAX_WAITING_FROM_SESSIONS,
  Maildir,
  type Put,
  type RingAnswer,
  ring,
} from "../mail/index.ts";
import { redactingValues, withoutSecrets } from "../redaction/index.ts";
import { inspectSession, KnownSecrets, removeEnvironment } from "../session/index.ts";
import { inboxDir } from "../util/index.ts";

const RING_ATTEMPTS = 3;

export const inboxOf = (home: Home, sessionDir: string) => new Maildir(home.io.disk, inboxDir(sessionDir));

export interface SendOptions {
  /** The sender. Default: the user. */
  readonly from?: string;
  /** A message that is sent again under the same id arrives once. */
  readonly id?: string;
}

export interface Sent {
  readonly message: string;
  /** False: a message was sent under this id before, so this one was not sent. */
  readonly isNew: boolean;
  /** Whether a process is there to take it in. Otherwise it waits until the session goes on. */
  readonly isHeard: boolean;
}

export async function sendMessage(
  home: Home,
  found: FoundSession,
  text: string,
  options: SendOptions = {},
): Promise<Sent> {
  await assertTakesMessages(found);
  const id = options.id ?? home.newId("msg");
  if (!/^msg_[a-z0-9_]{1,60}$/.test(id))
    throw new HoldfastError(
      "invalid_data",
      "id: a message's id is msg_ and up to 60 small letters, digits and _",
    );
  if (text === "") throw new HoldfastError("invalid_data", "text: the message is empty");
  const from = options.from ?? `user:${found.user}`;
  const envelope = { ...stamp(home, id, from), kind: "message" as const, to: found.id, text };
  const put = await putMessage(home, found, envelope);
  return { ...put, isHeard: (await ringSession(found.dir)) !== "absent" };
}

export async function assertTakesMessages({ id, dir }: FoundSession): Promise<void> {
  const { state } = await inspectSession(dir);
  if (["closed", "archived", "damaged"].includes(state.status))
    throw new HoldfastError("illegal_transition", `session ${id} is ${state.status}: it takes no messages`, {
      status: state.status,
    });
}

export async function putMessage(
  home: Home,
  { id, dir }: FoundSession,
  envelope: EnvelopeOf<"message">,
): Promise<Omit<Sent, "isHeard">> {
  const most = isSessionId(envelope.from) ? MAX_WAITING_FROM_SESSIONS : MAX_WAITING;
  if ((await inboxOf(home, dir).waiting()).length >= most)
    throw new HoldfastError("inbox_full", `${most} messages wait in the inbox of ${id}`);
  // A text that is already too long need not be searched. Without its secrets a text may become longer; `put`
  // then refuses it.
  assertMessageSize(envelope.text);
  const known = new KnownSecrets(() => dir);
  const text = await withoutSecrets(
    redactingValues(home.io.redact, () => known.all()),
    envelope.text,
  );
  const { isNew } = await put(home, dir, { ...envelope, text });
  return { message: envelope.id, isNew };
}

/** On disk when this returns. */
export function put(home: Home, sessionDir: string, envelope: Envelope): Promise<Put> {
  return inboxOf(home, sessionDir).put(envelope.id, encodeEnvelope(envelope));
}

/** Asks the session process to look into its inbox. */
export async function ringSession(sessionDir: string): Promise<RingAnswer> {
  for (let attempt = 1; attempt <= RING_ATTEMPTS; attempt += 1) {
    const record = readProcessRecord(sessionDir);
    if (!record) return "absent";
    // A process without a bell watches its inbox, and answers nothing.
    const answer = record.bell === null ? "silent" : await ring(record.bell);
    if (answer !== "absent") return answer;
  }
  return "absent";
}

/** The same, without waiting for the answer. */
export async function knockAtSession(sessionDir: string): Promise<void> {
  const bell = readProcessRecord(sessionDir)?.bell;
  if (bell) await knock(bell);
}

/** Removes them as if they had never been put there. */
export async function takeBackTasks(home: Home, sessionDir: string): Promise<void> {
  const inbox = inboxOf(home, sessionDir);
  const tasks = (await inbox.waiting()).filter((name) => idOf(name).startsWith("task_"));
  await inbox.done(tasks);
  for (const name of tasks) await removeEnvironment(home.io.disk, sessionDir, idOf(name));
}

/** The spec of the first task that has not been taken in. */
export async function firstTaskIn(inbox: Maildir): Promise<TaskSpec | undefined> {
  for (const name of await inbox.waiting()) {
    const bytes = await inbox.read(name);
    const envelope = bytes ? decodeEnvelope(bytes) : undefined;
    if (envelope?.kind === "task") return envelope.spec;
  }
  return undefined;
}

export function stamp(home: Home, id: string, from: string) {
  return { id, from, at: new Date(home.io.clock.nowMs()).toISOString() };
}
