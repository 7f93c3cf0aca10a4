/**
 * Owns the form of a task's state inside a session's: what its records add up to, and what it is before the first.
 */
import type { ParkReason, Stage, Verdict } from "../contract/index.ts";

/** The files' half of a checkpoint. */
export interface SnapshotState {
  readonly commit: string;
  readonly tree: string;
  readonly manifest: string;
  readonly turn: number;
  /** How many files are in it that may be work and are not in the tree. */
  readonly unanswered: number;
}

/** HOME at a checkpoint. */
export interface HomeState {
  /** Empty where there was nothing in it. */
  readonly commit: string;
  readonly manifest: string;
}

/** What a task may do, as it was recorded when it began. */
export interface LaneState {
  readonly name: string;
  readonly isReadOnly: boolean;
  /** Its agent may edit, and run no commands. */
  readonly isWithoutCommands: boolean;
  /** Also those that a person allowed while it ran. */
  readonly hosts: readonly string[];
}

/** What the checks said, and of which tree: of another one they say nothing. */
export interface VerifiedState {
  readonly tree: string;
  readonly verdict: Verdict;
}

/** Why a task stands still. */
export interface ParkedState {
  readonly reason: ParkReason;
  /** From then on it may go on by itself; null where a person has to say so. */
  readonly until: string | null;
  readonly detail: string | null;
}

/** The latest task. */
export interface TaskState {
  readonly number: number;
  /** What it was queued as; null where a harness drove it itself. */
  readonly request: string | null;
  /** What it is about, where that was said. */
  readonly asked: string | null;
  /** The commit that its files began with. */
  readonly base: string | null;
  /** Null for one of an earlier version, and for one that was begun elsewhere. */
  readonly lane: LaneState | null;
  /** Whether its processes have a sandbox; without one they can do whatever their user can. */
  readonly isSandboxed: boolean;
  readonly outcome: string | null;
  /** The stage that began and did not end; null where none did, and once the task ended. */
  readonly stage: Stage | null;
  /** How its agent ended, while what it left is being kept. */
  readonly acted: string | null;
  /** What the checks said of which tree; null before, and where there was nothing to verify. */
  readonly verified: VerifiedState | null;
  /** Null while it is not parked. */
  readonly parked: ParkedState | null;
  /** What its work is against its base, in numbers; null until it ends. */
  readonly changed: {
    readonly files: number;
    readonly insertions: number;
    readonly deletions: number;
  } | null;
  /** How its last command ended; both null while it runs, and where none ran. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** `none`: never made, or a fork's parent has it. `rewound`: it is to be made from the snapshot, and HOME too. */
  readonly capsule: "none" | "there" | "torn_down" | "rewound";
  readonly snapshot: SnapshotState | null;
  /** Where its work was published; null while it was not. */
  readonly branch: string | null;
  /** As which commit; a fork knows it too. */
  readonly published: string | null;
  /** Whether it began with work of earlier tasks that is in no commit of its base. */
  readonly hasUnpublished: boolean;
  /** Whether a value of its environment is in its work, or in work that it began with, and no person has looked at it. */
  readonly isHeld: boolean;
  /** Whether an earlier task of the session was given variables: their values are not known any more. */
  readonly hadValuesBefore: boolean;
  /** The commit that the agent's own git stood on when the task before it ended. */
  readonly headBefore: string | null;
}

export const noCommandEnded = { exitCode: null, signal: null } satisfies Partial<TaskState>;

/** A task of which nothing is known yet. */
export const newTask: TaskState = {
  number: 0,
  request: null,
  asked: null,
  base: null,
  lane: null,
  isSandboxed: true,
  outcome: null,
  stage: null,
  acted: null,
  verified: null,
  parked: null,
  changed: null,
  ...noCommandEnded,
  capsule: "none",
  snapshot: null,
  branch: null,
  published: null,
  hasUnpublished: false,
  isHeld: false,
  hadValuesBefore: false,
  headBefore: null,
};

/** The commit that the files of a task stand on when it is over. */
export const standsOn = ({ published, base }: TaskState): string | null => published ?? base;

/** As `task_ended` says that a value is in the work. */
export const SECRET_IN_WORK = "secret_in_work";
