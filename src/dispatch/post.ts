/**
 * Owns the carrying of messages: into a session's inbox from a person or a program, and from one session's outbox to
 * another's inbox.
 *
 * Y5 A message is acknowledged when it is on disk in the inbox; carried again after a kill, it arrives once.
 * Y7 It lies there without secrets: nobody knows for how long.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  HoldfastError,
  isHoldfastError,
  isSessionId,
  type SessionId,
  type TaskSpec,
} from "../contract/index.ts";
import {
  type FoundSession,
  findSession,
  type Home,
  listSessionIds,
  readProcessRecord,
  sessionDirOf,
} from "../home/index.ts";
import {
  assertMessageSize,
  decodeEnvelope,
  type Envelope,
  type EnvelopeOf,
  encodeEnvelope,
  idOf,
  MAX_WAITING,
  MAX_WAITING_FROM_SESSIONS,
  Maildir,
  type Put,
  ring,
} from "../mail/index.ts";
import { redactingValues, withoutSecrets } from "../redaction/index.ts";
import { inspectSession, KnownSecrets, readManifest, removeEnvironment } from "../session/index.ts";
import { deadline, errorCode, type FileLock, tryFileLock, withFileLock } from "../util/index.ts";

const RING_ATTEMPTS = 3;

export const inboxOf = (home: Home, sessionDir: string) =>
  new Maildir(home.ports.disk, join(sessionDir, "inbox"));
const outboxOf = (home: Home, sessionDir: string) => new Maildir(home.ports.disk, join(sessionDir, "outbox"));

export interface SendOptions {
  /** Who sends it. Default: the user. */
  readonly from?: string;
  /** Sent again under the same id, it arrives once. */
  readonly id?: string;
}

export interface Sent {
  readonly message: string;
  /** False: one was sent under this id before, and this one was not. */
  readonly isNew: boolean;
  /** Whether a process is there to take it in; otherwise it waits until the session goes on. */
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
    throw new HoldfastError("invalid_data", "id: msg_ and up to 60 small letters, digits and _ are needed");
  if (text === "") throw new HoldfastError("invalid_data", "text: there is nothing to send");
  const from = options.from ?? `user:${found.user}`;
  return putMessage(home, found, { ...stamp(home, id, from), kind: "message", to: found.id, text });
}

async function assertTakesMessages({ id, dir }: FoundSession): Promise<void> {
  const { state } = await inspectSession(dir);
  if (["closed", "archived", "damaged"].includes(state.status))
    throw new HoldfastError("illegal_transition", `session ${id} is ${state.status}: it takes no messages`, {
      status: state.status,
    });
}

async function putMessage(home: Home, { id, dir }: FoundSession, envelope: EnvelopeOf<"message">) {
  const most = isSessionId(envelope.from) ? MAX_WAITING_FROM_SESSIONS : MAX_WAITING;
  if ((await inboxOf(home, dir).waiting()).length >= most)
    throw new HoldfastError("inbox_full", `${most} messages wait in the inbox of ${id}`);
  // What is too long as it is need not be searched; without its secrets it may be longer, which `put` refuses.
  assertMessageSize(envelope.text);
  const known = new KnownSecrets(() => dir);
  const text = await withoutSecrets(
    redactingValues(home.ports.redact, () => known.all()),
    envelope.text,
  );
  const { isNew } = await put(home, dir, { ...envelope, text });
  return { message: envelope.id, isNew, isHeard: await ringSession(dir) };
}

/** On disk when this returns. */
export function put(home: Home, sessionDir: string, envelope: Envelope): Promise<Put> {
  return inboxOf(home, sessionDir).put(envelope.id, encodeEnvelope(envelope));
}

/** Whether its process heard it. */
export async function ringSession(sessionDir: string): Promise<boolean> {
  for (let attempt = 1; attempt <= RING_ATTEMPTS; attempt += 1) {
    const record = readProcessRecord(sessionDir);
    if (!record) return false;
    // Without a bell it watches its inbox.
    if (record.bell === null || (await ring(record.bell))) return true;
  }
  return false;
}

/** As if they had never been put there. */
export async function takeBackTasks(home: Home, sessionDir: string): Promise<void> {
  const inbox = inboxOf(home, sessionDir);
  const tasks = (await inbox.waiting()).filter((name) => idOf(name).startsWith("task_"));
  await inbox.done(tasks);
  for (const name of tasks) await removeEnvironment(home.ports.disk, sessionDir, idOf(name));
}

/** What the first task says that nobody has taken in. */
export async function firstTaskIn(inbox: Maildir): Promise<TaskSpec | undefined> {
  for (const name of await inbox.waiting()) {
    const bytes = await inbox.read(name);
    const envelope = bytes ? decodeEnvelope(bytes) : undefined;
    if (envelope?.kind === "task") return envelope.spec;
  }
  return undefined;
}

export function stamp(home: Home, id: string, from: string) {
  return { id, from, at: new Date(home.ports.clock.nowMs()).toISOString() };
}

/**
 * One at a time for a home, so that the order of each sender is kept; and one that waits for its turn. More need not
 * wait: whatever brought them here lies there already, and the one that waits will find it. Says whether something
 * is left that can be carried at once.
 */
export async function deliverOutboxes(home: Home): Promise<boolean> {
  const waiting = await tryLockAgain(join(home.dir, "post-next.lock"));
  if (!waiting) return false;
  try {
    return await withFileLock(join(home.dir, "post.lock"), () => {
      waiting.drop();
      return deliverForAWhile(home);
    });
  } finally {
    waiting.drop();
  }
}

/** Two who try in the same moment may both find it taken. */
async function tryLockAgain(path: string): Promise<FileLock | undefined> {
  for (let attempt = 1; attempt < LOCK_ATTEMPTS; attempt += 1) {
    const lock = tryFileLock(path);
    if (lock) return lock;
    await sleep(LOCK_REST_MS * Math.random());
  }
  return tryFileLock(path);
}

async function deliverForAWhile(home: Home): Promise<boolean> {
  const patience = deadline(home.ports.clock, CARRY_MS);
  for (let pauses = 0; ; ) {
    const left: ("more" | "later" | "none")[] = [];
    let bug: unknown;
    // A few of each in turn: whoever says much keeps nobody waiting. One whose directories are not in order keeps
    // nobody else's messages.
    for (const id of await listSessionIds(home))
      try {
        left.push(await deliverFrom(home, id));
      } catch (error) {
        if (!isHoldfastError(error) && errorCode(error) === undefined) bug ??= error;
        left.push("later");
      }
    // Said when everybody else has had their turn.
    if (bug !== undefined) throw bug;
    const isMore = left.includes("more");
    if (!isMore && !left.includes("later")) return false;
    if (patience.isPast) return isMore;
    if (isMore) continue;
    // What could not be delivered now may be in a moment; who comes next tries again.
    pauses += 1;
    if (pauses > MAX_PAUSES) return false;
    await sleep(PAUSE_MS);
  }
}

/** Then others have their turn: those who wait in the line, say. */
const CARRY_MS = 2000;
const LOCK_ATTEMPTS = 4;
const LOCK_REST_MS = 10;
const MAX_PAUSES = 3;
const PAUSE_MS = 300;
const DELIVERED_IN_TURN = 16;

/** Whether there are more, and whether these can be delivered now. */
async function deliverFrom(home: Home, id: SessionId): Promise<"more" | "later" | "none"> {
  const outbox = outboxOf(home, sessionDirOf(home, id));
  const names = await outbox.waiting();
  const receivers = new Receivers(home, id);
  const done: string[] = [];
  let isStuck = false;
  for (const name of names.slice(0, DELIVERED_IN_TURN)) {
    const bytes = await outbox.read(name);
    if (bytes === undefined) continue;
    const envelope = bytes === null ? undefined : decodeEnvelope(bytes);
    if (envelope?.kind !== "message") {
      await outbox.setAside(name);
      continue;
    }
    const reason = await deliver(home, id, receivers, envelope);
    // The other inbox is full: what comes after waits, too, or the order would be lost.
    isStuck = reason === "later";
    if (isStuck) break;
    if (reason !== undefined) await returnToSender(home, id, envelope, reason);
    done.push(name);
  }
  // Killed before this, they are carried again, and known by their ids.
  await outbox.done(done);
  return isStuck ? "later" : names.length > DELIVERED_IN_TURN ? "more" : "none";
}

/** Those that one session writes to: looked up once for all that goes there in a turn. */
class Receivers {
  readonly #home: Home;
  readonly #from: SessionId;
  readonly #found = new Map<string, Promise<FoundSession>>();

  constructor(home: Home, from: SessionId) {
    this.#home = home;
    this.#from = from;
  }

  find(to: string): Promise<FoundSession> {
    const found = this.#found.get(to) ?? this.#lookUp(to);
    this.#found.set(to, found);
    return found;
  }

  async #lookUp(to: string): Promise<FoundSession> {
    const sender = await readManifest(sessionDirOf(this.#home, this.#from)).catch(() => undefined);
    if (!sender || !isSessionId(to)) throw new HoldfastError("session_not_found", "there is no such session");
    // Of the same user only: another user's session is not there.
    const found = await findSession(this.#home, to, sender.user);
    await assertTakesMessages(found);
    return found;
  }
}

/** Undefined: it is there. Otherwise why it can't be delivered. */
async function deliver(
  home: Home,
  from: SessionId,
  receivers: Receivers,
  envelope: EnvelopeOf<"message">,
): Promise<"later" | string | undefined> {
  try {
    // Whatever the envelope says: it came from this outbox.
    await putMessage(home, await receivers.find(envelope.to), { ...envelope, from });
    return undefined;
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return error.code === "inbox_full" ? "later" : error.message;
  }
}

async function returnToSender(
  home: Home,
  id: SessionId,
  { id: message, to }: EnvelopeOf<"message">,
  reason: string,
): Promise<void> {
  const dir = sessionDirOf(home, id);
  const text = `Message ${message} to ${to} was not delivered: ${reason}`;
  // Under an id of its own that is the same after a kill.
  const notice = stamp(home, `back_${message}`.slice(0, 64), "dispatcher");
  await put(home, dir, { ...notice, kind: "message", to: id, text });
  await ringSession(dir);
}
