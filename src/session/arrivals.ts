/**
 * Owns the part of the fold that came through the inbox or goes through the outbox: tasks that wait, messages that are
 * unread. Pure, as all of the fold.
 */
import { type ErrorCode, type EventType, HoldfastError, type JsonObject } from "../contract/index.ts";
import type { SessionState } from "./state.ts";

/** So many may come in between two syncs of an inbox; the rest waits in it. */
export const MAX_ARRIVED = 64;
const MAX_QUEUED = 1000;
const MAX_UNREAD = 1000;

function arrived(state: SessionState, id: string): Pick<SessionState, "arrived"> {
  return { arrived: [...state.arrived, id].slice(-MAX_ARRIVED) };
}

export const unqueued = ({ queue }: SessionState, request: unknown) =>
  queue.filter((one) => one.request !== request);
export const isQueued = ({ queue }: SessionState, request: unknown) =>
  queue.some((one) => one.request === request);
const isUnread = ({ unread }: SessionState, message: unknown) =>
  unread.some((one) => one.message === message);

function arrivedBefore(id: unknown): HoldfastError {
  return refuse("arrived_before", `${textIn(id)} arrived before`);
}

/** Why it can't arrive, or be dealt with; undefined also for whatever is not of this kind. */
export function refusalOfArrival(
  state: SessionState,
  type: EventType,
  data: JsonObject,
): HoldfastError | undefined {
  switch (type) {
    case "task_queued":
      if (state.arrived.includes(textIn(data["request"]))) return arrivedBefore(data["request"]);
      return state.queue.length < MAX_QUEUED
        ? undefined
        : refuse("queue_full", `${MAX_QUEUED} tasks wait already`);
    case "task_refused":
      return isQueued(state, data["request"])
        ? undefined
        : refuse("invalid_data", `${textIn(data["request"])} does not wait`);
    case "message_received":
      if (state.arrived.includes(textIn(data["message"]))) return arrivedBefore(data["message"]);
      return state.unread.length < MAX_UNREAD
        ? undefined
        : refuse("inbox_full", `${MAX_UNREAD} messages are unread`);
    case "message_handed":
    case "message_entered_context":
      return isUnread(state, data["message"])
        ? undefined
        : refuse("invalid_data", `${textIn(data["message"])} is not an unread message`);
    default:
      return undefined;
  }
}

export function effectOfArrival(
  state: SessionState,
  type: EventType,
  data: JsonObject,
): Partial<SessionState> {
  switch (type) {
    case "task_queued": {
      const { queue } = state;
      const item = {
        request: textIn(data["request"]),
        priority: typeof data["priority"] === "number" ? data["priority"] : 0,
      };
      const at = queue.findIndex(({ priority }) => priority < item.priority);
      return { queue: queue.toSpliced(at < 0 ? queue.length : at, 0, item), ...arrived(state, item.request) };
    }
    case "task_refused":
      return { queue: unqueued(state, data["request"]) };
    case "message_received": {
      const message = textIn(data["message"]);
      const unread = [...state.unread, { message, isHanded: false }];
      return { unread, ...arrived(state, message) };
    }
    case "message_sent":
      return { lastSent: textIn(data["message"]) };
    case "message_set_aside":
      return arrived(state, textIn(data["message"]));
    case "message_handed":
      return {
        unread: state.unread.map((one) =>
          one.message === data["message"] ? { ...one, isHanded: true } : one,
        ),
      };
    case "message_entered_context":
      return { unread: state.unread.filter(({ message }) => message !== data["message"]) };
    default:
      return {};
  }
}

/** A text where one belongs, and the empty one for everything else: the fold reads what others wrote, too. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function refuse(code: ErrorCode, message: string, facts: Record<string, unknown> = {}): HoldfastError {
  return new HoldfastError(code, message, facts);
}
