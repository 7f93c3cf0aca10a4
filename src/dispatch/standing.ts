/**
 * Owns how a session stands, in the words in which a person asks: does it work, does it wait for me, is it
 * done? Pure: it is computed from its journal, its lock, its process and its place in the line.
 */
import type { SessionSummary } from "../home/index.ts";
import { parkedIn, parkedText } from "./parked-text.ts";

export const standings = [
  "new",
  "queued",
  "working",
  "waiting for you",
  "done",
  "failed",
  "cancelled",
  "interrupted",
  "parked",
  "paused",
  "handed off",
  "closed",
  "archived",
  "damaged",
] as const;
/** How a session stands, in a person's words, as `holdfast ls` shows it. */
export type Standing = (typeof standings)[number];

export interface Stand {
  readonly standing: Standing;
  /** The detail beside the standing: what it waits for, or why it was paused. */
  readonly why: string | null;
}

export type Stood = Pick<
  SessionSummary,
  "status" | "pausedFor" | "pid" | "task" | "queue" | "pending" | "handoff"
> & {
  /** Why it waits in the line, if it does. */
  readonly waits: string | null;
};

const OUTCOMES: Readonly<Record<string, Standing>> = {
  done: "done",
  unverified: "done",
  failed: "failed",
  cancelled: "cancelled",
  interrupted: "interrupted",
  // A person looked at its work and published it.
  needs_review: "done",
  rewound: "paused",
};

const PAUSES: Readonly<Record<string, string>> = {
  budget: "its budget is reached",
  quota: "it used more disk or processes than its quota allows",
  import: "it was imported",
};

export function standOf(session: Stood): Stand {
  const { status, waits, pending, handoff, pid, queue, task } = session;
  switch (status) {
    case "damaged":
    case "closed":
    case "archived":
      return { standing: status, why: null };
    case "handed_off":
      return { standing: "handed off", why: handoff && `${handoff.to} has it` };
    case "interrupted":
      return { standing: "interrupted", why: "its process ended in the middle of a task" };
    default:
      break;
  }
  if (Object.keys(pending).length > 0)
    return {
      standing: "waiting for you",
      why: Object.values(pending)
        .map(({ kind }) => kind)
        .join(", "),
    };
  if (waits !== null) return { standing: "queued", why: waits };
  const parked = parkedIn(session);
  if (parked) return { standing: "parked", why: parkedText(parked) };
  // All is done, and its process is about to end.
  const isLeaving = task !== null && task.outcome !== null && queue === 0;
  if (status === "running" || (pid !== null && !isLeaving)) return { standing: "working", why: null };
  return atRest(session, queue > 0 ? "tasks wait in it" : null);
}

function atRest({ pausedFor, task, status }: Stood, waiting: string | null): Stand {
  const isOver = task !== null && task.outcome !== null;
  const why = PAUSES[pausedFor ?? ""] ?? waiting;
  if (task?.outcome === "needs_review" && task.published === null)
    return { standing: "waiting for you", why: "its work needs a review" };
  // The person who paused it wants it to stand still, and its waiting work is not done.
  if (pausedFor === "budget" || pausedFor === "quota" || waiting !== null) return { standing: "paused", why };
  if (isOver) return { standing: OUTCOMES[task.outcome ?? ""] ?? "failed", why };
  return { standing: task === null && status !== "paused" ? "new" : "paused", why };
}
