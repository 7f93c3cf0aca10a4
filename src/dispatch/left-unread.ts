/**
 * Owns whether a message comes too late for the agent that works in a session: after the agent's end, its process still
 * checks and saves the work, and takes in messages that no agent will read.
 */
import { findSession, type Home, readProcessRecord } from "../home/index.ts";
import { idOf } from "../mail/index.ts";
import { inspectSession } from "../session/index.ts";
import { Ears } from "./ears.ts";
import { inboxOf } from "./post.ts";
import { whenSettled } from "./readiness.ts";

export interface LeftUnreadOptions {
  readonly user?: string;
  /** The agent has ended, and its process is waited for. */
  readonly onWait: () => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/**
 * Resolves to false when an agent has the message or is there to take it in, or when the signal came first; to true when the
 * session has no process any more and the message is unread.
 */
export async function isLeftUnread(
  home: Home,
  id: string,
  message: string,
  { user, onWait, signal }: LeftUnreadOptions,
): Promise<boolean> {
  const found = await findSession(home, id, ...(user === undefined ? [] : [user]));
  const inbox = inboxOf(home, found.dir);
  const ears = new Ears(home, found);
  let isTold = false;
  try {
    while (!signal?.aborted) {
      const isThere = readProcessRecord(found.dir) !== undefined;
      // First there, then in the fold: it is never in neither before an agent has it.
      const isInInbox = (await inbox.waiting()).some((name) => idOf(name) === message);
      const { openTurn, queue, unread } = (await inspectSession(found.dir)).state;
      if (!isInInbox && unread.every((one) => one.message !== message || one.isHanded)) return false;
      if (!isThere) return (await whenSettled(home, found)).kind === "none";
      if (openTurn || queue.length > 0) return false;
      if (!isTold) onWait();
      isTold = true;
      await ears.next();
    }
    return false;
  } finally {
    ears.close();
  }
}
