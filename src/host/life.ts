/**
 * Owns the types of a session process's life: its states, what can happen to it, and what it does then. Each
 * state has the data that it needs, and no other. `life-table.ts` connects them. One thing is under way in
 * each state, and its end is a happening: the arrival, the request for a place, a wait, a drive, and so on.
 * Looks into the inbox go on beside it.
 */
import type { Stop } from "../task/index.ts";

/** The task to drive. */
export type Work = QueuedWork | CutWork;

export interface QueuedWork {
  readonly kind: "queued";
  readonly request: string;
}

/**
 * What a crash or a pause cut off. Either its command is started again, or its work is kept and its task
 * ended.
 */
export interface CutWork {
  readonly kind: "cut";
  readonly request: string;
  readonly isStartedAgain: boolean;
}

export interface Failure {
  readonly kind: "failure";
  readonly error: unknown;
}

/** Why the process ends although there may be work: a failure outweighs a pause. */
export type End = { readonly kind: "pause" } | Failure;

/**
 * Why a turn was told to end. After a pause the process leaves; after an interrupt it may go on with the next
 * task.
 */
export type Stopped =
  | { readonly by: "interrupt"; readonly end: End | null }
  | { readonly by: "pause"; readonly end: End };

/** Why the session is at rest after this process: a pause was asked for, or nothing was left to do. */
export type RestReason = "asked" | "idle";

export type Arriving = { readonly state: "arriving"; readonly end: End | null };

export type InLine = { readonly state: "in_line"; readonly work: Work; readonly waitMs: number } & (
  | {
      readonly step: "asking";
      /** What came in meanwhile, because the answer may be older than that. */
      readonly meanwhile: "looked" | End | null;
    }
  | { readonly step: "waiting" }
);

export type Driving = { readonly state: "driving"; readonly work: Work; readonly stopped: Stopped | null };

export type Leaving = { readonly state: "leaving" } & (
  | { readonly step: "giving_back"; readonly end: End | null }
  | { readonly step: "looking"; readonly isPauseAsked: boolean }
  | { readonly step: "resting"; readonly why: RestReason }
  | { readonly step: "pausing"; readonly why: RestReason }
  | { readonly step: "going"; readonly failure: Failure | null }
);

export type Gone = { readonly state: "gone"; readonly failure: Failure | null };

export type Life = Arriving | InLine | Driving | Leaving | Gone;

/** `next` is the request that is first in the session's queue at that moment, if one waits. */
export type Happening =
  | { readonly kind: "arrived"; readonly cut: CutWork | null; readonly next: string | null }
  | { readonly kind: "rung" }
  /** The inbox was looked at for all rings until now. */
  | { readonly kind: "looked"; readonly next: string | null }
  | { readonly kind: "look_failed"; readonly error: unknown }
  | { readonly kind: "pause_asked" }
  | { readonly kind: "interrupt_asked" }
  | { readonly kind: "cancel_asked"; readonly request: string }
  | { readonly kind: "place_granted"; readonly next: string | null }
  | { readonly kind: "place_denied"; readonly next: string | null }
  /** The task can't begin, and that is on record. */
  | { readonly kind: "work_refused"; readonly next: string | null }
  | { readonly kind: "wait_over" }
  /** `isPaused`: its budget or its quota is reached, and the session is paused for that. */
  | { readonly kind: "drive_ended"; readonly isPaused: boolean; readonly next: string | null }
  | { readonly kind: "place_given_back" }
  | { readonly kind: "files_at_rest" }
  | { readonly kind: "pause_recorded" }
  | { readonly kind: "left" }
  /** What was under way failed. */
  | { readonly kind: "failed"; readonly error: unknown };

export type Effect =
  | { readonly kind: "arrive" }
  | { readonly kind: "look" }
  /** Answers a ring: this process does not look any more. */
  | { readonly kind: "turn_away" }
  | { readonly kind: "ask_place"; readonly work: Work }
  | { readonly kind: "wait"; readonly timeoutMs: number }
  | { readonly kind: "stop_waiting" }
  | { readonly kind: "drive"; readonly work: Work }
  | { readonly kind: "stop_turn"; readonly by: Stop }
  | { readonly kind: "take_back"; readonly request: string }
  | { readonly kind: "give_place_back" }
  | { readonly kind: "rest_files" }
  | { readonly kind: "record_pause"; readonly reason: RestReason }
  | { readonly kind: "leave" };

export interface Step {
  readonly life: Life;
  readonly effects: readonly Effect[];
}
