/**
 * Owns sending a message to a session's agent. A person's message that no agent takes in wakes the session; if its process
 * still checks or saves the agent's work, that is waited for first.
 */
import { type Dispatcher, isLeftUnread } from "../dispatch/index.ts";
import { present } from "../util/index.ts";
import type { Sent } from "./results.ts";
import { wake } from "./waking.ts";

export interface Message {
  readonly text: string;
  readonly id?: string | undefined;
  readonly from?: string | undefined;
  readonly wake?: boolean | undefined;
}

export interface SendingOptions {
  readonly user: string;
  /** The message is on disk, and the session's process is waited for. */
  readonly onWait?: (sent: Sent) => void;
  /** Ends the wait; the message stays unread. */
  readonly signal?: AbortSignal;
}

export async function sendAndWake(
  dispatcher: Dispatcher,
  session: string,
  { text, id, from, wake: mayWake = true }: Message,
  { user, onWait = () => {}, signal }: SendingOptions,
): Promise<Sent> {
  const { message, isNew, isHeard } = await dispatcher.send(session, text, {
    ...{ user, ...present({ id, from }) },
  });
  const sent = { message, isNew, isHeard, isWoken: false };
  if (!mayWake || !isNew || from !== undefined) return sent;
  // Without a conversation there is no agent to wake, so nothing is waited for.
  if (!(await dispatcher.holdfast.showSession(session, { user })).conversation) return sent;
  const waiting = { user, onWait: () => onWait(sent), ...present({ signal }) };
  const isLeft = await isLeftUnread(dispatcher.home, session, message, waiting);
  return { ...sent, isWoken: isLeft && (await wake(dispatcher, session, { user })) };
}
