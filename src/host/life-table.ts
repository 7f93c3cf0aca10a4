/**
 * Owns what a session process does when something happens to it: one pure function from a state and a
 * happening to the next state and the effects.
 *
 *    arriving  The process has the session, and puts in order what earlier owners left. Then it goes on with
 *              a task that was cut off. To keep the work of such a task takes no memory, so that is done at
 *              once, also after a pause; to start its command again takes a place in the line. Without such a
 *              task, it goes on with the queue.
 *    in line   It asks for a place for one task. Denied, it waits for a ring or for a limited time, which
 *              gets longer each time. Granted, it drives the task, unless the task was cancelled or a more
 *              urgent one came in.
 *    driving   The task runs. An interrupt ends its turn, and so do a pause and a failure; the first of these
 *              is the recorded reason. Then comes the next task in the queue.
 *    leaving   Nothing is due, a pause was asked for, or something failed.
 *              giving back  Nothing is due: other sessions may have the place.
 *              looking      Once more: what was put in by now is still taken in, and sends it back in line.
 *              resting      From here on nothing is taken in: it is for the next process, and the callers
 *                           that put it there start that process. Only after a pause, envelopes are taken in
 *                           until the pause is on record, because no process is started for them then.
 *              pausing      The pause is recorded.
 *              going        The sockets, the session and the place are given up, whatever happened.
 *    gone      The end.
 *
 *    In every state, a ring leads to a look; from `resting` on it is turned away. A task that is cancelled is
 *    removed from the queue, or interrupted if it is the one that runs. An interrupt counts only while a task
 *    is driven. While work is under way that can't be stopped, a pause or a failure waits for its end.
 *
 * process-1 One thing is under way at a time; so there are never two drives.
 * process-2 After a pause or a failure, and while it leaves, no command is started.
 * process-3 A ring leads to a look that begins after it, unless it is turned away; it is turned away only
 *     from `resting` on.
 * process-4 A pause ends with the session at rest and the process gone; a failure, with the process gone.
 * process-5 Something is under way until it is gone; while it waits in line, a ring, a pause or the time ends
 *     that.
 * process-6 It goes to rest by itself only after a look that found nothing due. What is due is driven when it
 *     is the first in the queue, or stays there for the next process.
 */
import type { Stop } from "../task/index.ts";
import type {
  Arriving,
  Driving,
  Effect,
  End,
  Failure,
  Happening,
  InLine,
  Leaving,
  Life,
  RestReason,
  Step,
  Stopped,
  Work,
} from "./life.ts";

/** How long a place is waited for without a ring. */
const WAIT_MS = 2000;
const MAX_WAIT_MS = 60_000;

export const begin: Step = { life: { state: "arriving", end: null }, effects: [{ kind: "arrive" }] };

export function step(life: Life, happening: Happening): Step {
  if (life.state === "gone") return { life, effects: happening.kind === "rung" ? [TURN_AWAY] : [] };
  if (happening.kind === "rung") return { life, effects: [isHearing(life) ? LOOK : TURN_AWAY] };
  if (happening.kind === "cancel_asked" && !isDriving(life, happening.request))
    return { life, effects: [{ kind: "take_back", request: happening.request }] };
  switch (life.state) {
    case "arriving":
      return whileArriving(life, happening);
    case "in_line":
      return life.step === "asking" ? whileAsking(life, happening) : whileWaiting(life, happening);
    case "driving":
      return whileDriving(life, happening);
    case "leaving":
      return whileLeaving(life, happening);
  }
}

function whileArriving(life: Arriving, happening: Happening): Step {
  switch (happening.kind) {
    case "pause_asked":
      return stay({ ...life, end: outweighing(life.end, PAUSE) });
    case "look_failed":
      return stay({ ...life, end: outweighing(life.end, failure(happening.error)) });
    case "failed":
      return go(failure(happening.error));
    case "arrived": {
      const { cut, next } = happening;
      const isKept = cut && !cut.isStartedAgain;
      if (isKept && life.end?.kind !== "failure") return drive(cut, life.end);
      return cut && !life.end ? ask(cut) : goOn(life.end, next);
    }
    default:
      return stay(life);
  }
}

function whileAsking(life: InLine & { step: "asking" }, happening: Happening): Step {
  const { work, waitMs, meanwhile } = life;
  const end = meanwhile === "looked" ? null : meanwhile;
  switch (happening.kind) {
    case "looked":
      return stay({ ...life, meanwhile: end ?? "looked" });
    case "pause_asked":
      return stay({ ...life, meanwhile: outweighing(end, PAUSE) });
    case "look_failed":
      return stay({ ...life, meanwhile: outweighing(end, failure(happening.error)) });
    case "failed":
      return go(failure(happening.error));
    case "work_refused":
      return goOn(end, happening.next);
    case "place_granted":
      return end || !isWanted(work, happening.next) ? goOn(end, happening.next) : drive(work, null);
    case "place_denied": {
      if (end || !isWanted(work, happening.next)) return goOn(end, happening.next);
      const nextMs = Math.min(2 * waitMs, MAX_WAIT_MS);
      // The ring may mean that there is a place now.
      if (meanwhile === "looked") return ask(work, nextMs);
      return {
        life: { state: "in_line", step: "waiting", work, waitMs: nextMs },
        effects: [{ kind: "wait", timeoutMs: waitMs }],
      };
    }
    default:
      return stay(life);
  }
}

function whileWaiting({ work, waitMs, ...life }: InLine & { step: "waiting" }, happening: Happening): Step {
  switch (happening.kind) {
    case "wait_over":
      return ask(work, waitMs);
    case "looked":
      return awake(isWanted(work, happening.next) ? ask(work, waitMs) : goOn(null, happening.next));
    case "pause_asked":
      return awake(rest("asked"));
    case "look_failed":
    case "failed":
      return awake(go(failure(happening.error)));
    default:
      return stay({ ...life, work, waitMs });
  }
}

function whileDriving(life: Driving, happening: Happening): Step {
  const end = life.stopped?.end ?? null;
  switch (happening.kind) {
    case "interrupt_asked":
    case "cancel_asked":
      return stopTurn(life, { by: "interrupt", end: null });
    case "pause_asked":
      return stopTurn(life, { by: "pause", end: PAUSE });
    case "look_failed":
      return stopTurn(life, { by: "pause", end: failure(happening.error) });
    case "failed":
      return go(failure(happening.error));
    case "drive_ended":
      return goOn(happening.isPaused ? outweighing(end, PAUSE) : end, happening.next);
    default:
      return stay(life);
  }
}

function whileLeaving(life: Leaving, happening: Happening): Step {
  // Whatever it is, nothing is left to do about it.
  if (life.step === "going") {
    const isOver = happening.kind === "left" || happening.kind === "failed";
    const failed = happening.kind === "failed" ? failure(happening.error) : null;
    return stay(isOver ? { state: "gone", failure: life.failure ?? failed } : life);
  }
  if (happening.kind === "failed") return go(failure(happening.error));
  switch (life.step) {
    case "giving_back":
      if (happening.kind === "pause_asked") return stay({ ...life, end: outweighing(life.end, PAUSE) });
      if (happening.kind === "look_failed")
        return stay({ ...life, end: outweighing(life.end, failure(happening.error)) });
      if (happening.kind !== "place_given_back") return stay(life);
      if (life.end) return goOn(life.end, null);
      return { life: { state: "leaving", step: "looking", isPauseAsked: false }, effects: [LOOK] };
    case "looking":
      if (happening.kind === "pause_asked") return stay({ ...life, isPauseAsked: true });
      if (happening.kind === "look_failed") return go(failure(happening.error));
      if (happening.kind !== "looked") return stay(life);
      if (life.isPauseAsked) return rest("asked");
      return happening.next === null ? rest("idle") : goOn(null, happening.next);
    case "resting":
      if (happening.kind === "pause_asked") return stay({ ...life, why: "asked" });
      if (happening.kind !== "files_at_rest") return stay(life);
      return {
        life: { state: "leaving", step: "pausing", why: life.why },
        effects: [{ kind: "record_pause", reason: life.why }],
      };
    case "pausing":
      return happening.kind === "pause_recorded" ? go(null) : stay(life);
  }
}

/** Goes on with what is due, or leaves. */
function goOn(end: End | null, next: string | null): Step {
  if (end?.kind === "failure") return go(end);
  if (end) return rest("asked");
  if (next !== null) return ask({ kind: "queued", request: next });
  return {
    life: { state: "leaving", step: "giving_back", end: null },
    effects: [{ kind: "give_place_back" }],
  };
}

function ask(work: Work, waitMs = WAIT_MS): Step {
  return {
    life: { state: "in_line", step: "asking", work, waitMs, meanwhile: null },
    effects: [{ kind: "ask_place", work }],
  };
}

function drive(work: Work, end: End | null): Step {
  const driving: Step = {
    life: { state: "driving", work, stopped: null },
    effects: [{ kind: "drive", work }],
  };
  if (!end) return driving;
  // Asked for while nothing ran yet.
  const stopped = { by: "pause", end } as const;
  return { life: { state: "driving", work, stopped }, effects: [...driving.effects, stop("pause")] };
}

/** A turn is ended once; a later reason can only change what follows it. */
function stopTurn(life: Driving, { by, end }: Stopped): Step {
  const { stopped } = life;
  if (!stopped) return { life: { ...life, stopped: { by, end } as Stopped }, effects: [stop(by)] };
  return stay(end ? { ...life, stopped: { ...stopped, end: outweighing(stopped.end, end) } } : life);
}

function rest(why: RestReason): Step {
  return { life: { state: "leaving", step: "resting", why }, effects: [{ kind: "rest_files" }] };
}

function go(failed: Failure | null): Step {
  return { life: { state: "leaving", step: "going", failure: failed }, effects: [{ kind: "leave" }] };
}

const stay = (life: Life): Step => ({ life, effects: [] });
const awake = ({ life, effects }: Step): Step => ({
  life,
  effects: [{ kind: "stop_waiting" }, ...effects],
});

const LOOK: Effect = { kind: "look" };
const TURN_AWAY: Effect = { kind: "turn_away" };
const PAUSE: End = { kind: "pause" };
const stop = (by: Stop): Effect => ({ kind: "stop_turn", by });
const failure = (error: unknown): Failure => ({ kind: "failure", error });

const outweighing = (end: End | null, other: End): End => (end?.kind === "failure" ? end : other);

const isDriving = (life: Life, request: string) => life.state === "driving" && life.work.request === request;

/** A task that was cut off is not in the queue, and comes before it. */
const isWanted = (work: Work, next: string | null) => work.kind === "cut" || work.request === next;

function isHearing(life: Exclude<Life, { state: "gone" }>): boolean {
  if (life.state !== "leaving") return true;
  if (life.step === "resting" || life.step === "pausing") return life.why === "asked";
  return life.step !== "going";
}
