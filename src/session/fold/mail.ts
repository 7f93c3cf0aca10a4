/**
 * Owns the part of the fold about inbox and outbox: queued tasks and unread messages. The ids of the latest
 * arrivals are kept, so that no envelope is taken in twice.
 */
import type { HoldfastError } from "../../contract/index.ts";
import type { QueuedTask, SessionState } from "../state.ts";
import { numberIn, textIn, textOrNull } from "./fields.ts";
import { type Rule, refuse, rule } from "./rule.ts";

/** At most this many envelopes are taken in between two syncs of an inbox; the rest waits there. */
export const MAX_ARRIVED = 64;
const MAX_QUEUED = 1000;
const MAX_UNREAD = 1000;

export const mailRules: readonly Rule[] = [
  rule(
    "task_queued",
    { request: textIn, priority: numberIn },
    {
      refuse: ({ arrived, queue }, { request }) => {
        if (arrived.includes(request)) return arrivedBefore(request);
        return queue.length < MAX_QUEUED
          ? undefined
          : refuse("queue_full", `the session's queue already has ${MAX_QUEUED} tasks`);
      },
      apply: ({ arrived, queue }, task) => ({
        queue: queuedBy(queue, task),
        arrived: withArrived(arrived, task.request),
      }),
    },
  ),
  rule(
    "task_refused",
    { request: textIn },
    {
      refuse: ({ queue }, { request }) => refusalUnlessQueued(queue, request),
      apply: ({ queue }, { request }) => ({ queue: unqueued(queue, request) }),
    },
  ),
  rule(
    "message_received",
    { message: textIn, about: textOrNull },
    {
      refuse: ({ arrived, unread }, { message }) => {
        if (arrived.includes(message)) return arrivedBefore(message);
        return unread.length < MAX_UNREAD
          ? undefined
          : refuse("inbox_full", `the session already has ${MAX_UNREAD} unread messages`);
      },
      apply: ({ arrived, unread }, { message, about }) => ({
        unread: [...unread, { message, isHanded: false, about }],
        arrived: withArrived(arrived, message),
      }),
    },
  ),
  rule(
    "message_handed",
    { message: textIn },
    {
      refuse: (state, { message }) => refusalUnlessUnread(state, message),
      apply: ({ unread }, { message }) => ({
        unread: unread.map((one) => (one.message === message ? { ...one, isHanded: true } : one)),
      }),
    },
  ),
  rule(
    "message_entered_context",
    { message: textIn },
    {
      refuse: (state, { message }) => refusalUnlessUnread(state, message),
      apply: ({ unread }, { message }) => ({ unread: unread.filter((one) => one.message !== message) }),
    },
  ),
  rule(
    "message_set_aside",
    { message: textIn },
    { apply: ({ arrived }, { message }) => ({ arrived: withArrived(arrived, message) }) },
  ),
  rule("message_sent", { message: textIn }, { apply: (_state, { message }) => ({ lastSent: message }) }),
];

/** Without the messages about requests, which end with the task that made the requests. */
export const unreadWithoutTask = ({ unread }: Pick<SessionState, "unread">) =>
  unread.filter(({ about }) => about === null);

export const unqueued = (queue: readonly QueuedTask[], request: string | null) =>
  queue.filter((one) => one.request !== request);

export function refusalUnlessQueued(
  queue: readonly QueuedTask[],
  request: string,
): HoldfastError | undefined {
  if (queue.some((one) => one.request === request)) return undefined;
  return refuse("invalid_data", `task ${request} is not in the queue`);
}

function refusalUnlessUnread({ unread }: SessionState, message: string): HoldfastError | undefined {
  if (unread.some((one) => one.message === message)) return undefined;
  return refuse("invalid_data", `message ${message} is not unread`);
}

function arrivedBefore(id: string): HoldfastError {
  return refuse("arrived_before", `${id} was already taken in`);
}

/** Inserts the task after those with the same priority. */
function queuedBy(queue: readonly QueuedTask[], task: QueuedTask): readonly QueuedTask[] {
  const at = queue.findIndex(({ priority }) => priority < task.priority);
  return queue.toSpliced(at < 0 ? queue.length : at, 0, task);
}

const withArrived = (arrived: readonly string[], id: string) => [...arrived, id].slice(-MAX_ARRIVED);
