/**
 * Owns carrying messages from one session's outbox to another's inbox.
 *
 * A message that is carried again after a kill arrives once (message-1).
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, isHoldfastError, isSessionId, type SessionId } from "../contract/index.ts";
import { type FoundSession, findSession, type Home, listSessionIds, sessionDirOf } from "../home/index.ts";
import { decodeEnvelope, type EnvelopeOf, Maildir } from "../mail/index.ts";
import { readManifest } from "../session/index.ts";
import { deadline, errorCode, type FileLock, outboxDir, tryFileLock, withFileLock } from "../util/index.ts";
import { assertTakesMessages, knockAtSession, put, putMessage, stamp } from "./post.ts";

const outboxOf = (home: Home, sessionDir: string) => new Maildir(home.io.disk, outboxDir(sessionDir));

/**
 * Only one process of a home carries at a time, which keeps the order of each sender; a second one may wait
 * for its turn. No others need to wait: their messages already lie in the outboxes, and the one that waits
 * will find them. Resolves to whether messages are left that can be carried at once.
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

/** Two processes that try at the same moment may both find it taken. */
async function tryLockAgain(path: string): Promise<FileLock | undefined> {
  for (let attempt = 1; attempt < LOCK_ATTEMPTS; attempt += 1) {
    const lock = tryFileLock(path);
    if (lock) return lock;
    await sleep(LOCK_REST_MS * Math.random());
  }
  return tryFileLock(path);
}

async function deliverForAWhile(home: Home): Promise<boolean> {
  const patience = deadline(home.io.clock, CARRY_MS);
  for (let pauses = 0; ; ) {
    const left: ("more" | "later" | "none")[] = [];
    let bug: unknown;
    // Takes a few messages of each session in turn, so that a session with many does not hold up the others.
    // Directories of one session that are damaged do not hold up other sessions.
    for (const id of await listSessionIds(home))
      try {
        left.push(await deliverFrom(home, id));
      } catch (error) {
        if (!isHoldfastError(error) && errorCode(error) === undefined) bug ??= error;
        left.push("later");
      }
    // Logged after all other sessions had their turn.
    if (bug !== undefined) throw bug;
    const isMore = left.includes("more");
    if (!isMore && !left.includes("later")) return false;
    if (patience.isPast) return isMore;
    if (isMore) continue;
    // The next process that carries tries again.
    pauses += 1;
    if (pauses > MAX_PAUSES) return false;
    await sleep(PAUSE_MS);
  }
}

/** Then others have their turn, for example the sessions that wait in the line. */
const CARRY_MS = 2000;
const LOCK_ATTEMPTS = 4;
/** No event reports that the lock was released. */
const LOCK_REST_MS = 10;
const MAX_PAUSES = 3;
/**
 * A message that could not be delivered may become deliverable in a moment without any event: a session
 * process calls a dispatcher after it made room only if its inbox was full when it began to look, and nothing
 * reports that a damaged directory was repaired.
 */
const PAUSE_MS = 300;
const DELIVERED_IN_TURN = 16;

/** Whether there are more messages, and whether these can be delivered now. */
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
    // The other inbox is full: later messages wait, too, or their order would be lost.
    isStuck = reason === "later";
    if (isStuck) break;
    if (reason !== undefined) await returnToSender(home, id, envelope, reason);
    done.push(name);
  }
  // If we are killed before this, the messages are carried again, and are recognized by their ids.
  await outbox.done(done);
  return isStuck ? "later" : names.length > DELIVERED_IN_TURN ? "more" : "none";
}

/** The sessions that one session writes to, each looked up once per turn. */
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
    // Only within one user: for the sender, a session of another user does not exist.
    const found = await findSession(this.#home, to, sender.user);
    await assertTakesMessages(found);
    return found;
  }
}

/** Undefined: it is delivered. Otherwise the reason why it can't be. */
async function deliver(
  home: Home,
  from: SessionId,
  receivers: Receivers,
  envelope: EnvelopeOf<"message">,
): Promise<"later" | string | undefined> {
  try {
    // The sender is the session of this outbox, whatever the envelope says.
    const found = await receivers.find(envelope.to);
    await putMessage(home, found, { ...envelope, from });
    // Does not wait for the answer: it is of no use here, and one process that hangs must not hold up all
    // messages of the home.
    await knockAtSession(found.dir);
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
  // Under an id of its own, which is the same after a kill.
  const notice = stamp(home, `back_${message}`.slice(0, 64), "dispatcher");
  await put(home, dir, { ...notice, kind: "message", to: id, text });
  await knockAtSession(dir);
}
