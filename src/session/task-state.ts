/**
 * Owns the form of a task's state within the state of a session: what its records add up to, and the initial
 * value.
 */
import type { LaneTools, ParkReason, Stage, Verdict } from "../contract/index.ts";

/** The capsule's half of a checkpoint. */
export interface SnapshotState {
  readonly commit: string;
  readonly tree: string;
  readonly manifest: string;
  readonly turn: number;
  /** The number of files in it that may be work and are not in the tree. */
  readonly unanswered: number;
}

/** HOME at a checkpoint. */
export interface HomeState {
  /** Empty when HOME was empty. */
  readonly commit: string;
  readonly manifest: string;
}

/** What a task may do, as recorded when it began. */
export interface LaneState {
  readonly name: string;
  readonly isReadOnly: boolean;
  /** Its agent may edit files but run no commands. */
  readonly isWithoutCommands: boolean;
  /** Includes the hosts that a person allowed while the task ran. */
  readonly hosts: readonly string[];
  /** Which tools the task has, and which of them ask. */
  readonly tools: LaneTools;
}

/** The verdict of the checks, and the tree that it is about. It does not apply to any other tree. */
export interface VerifiedState {
  readonly tree: string;
  readonly verdict: Verdict;
}

/** Why a task is parked. */
export interface ParkedState {
  readonly reason: ParkReason;
  /** When it may go on by itself; null when a person has to release it. */
  readonly until: string | null;
  readonly detail: string | null;
}

/** The latest task. */
export interface TaskState {
  readonly number: number;
  /** The id that it was queued under; null when a harness drove it by itself. */
  readonly request: string | null;
  /** What was asked for; null when that was not recorded. */
  readonly asked: string | null;
  /** The commit that its files started from. */
  readonly base: string | null;
  /** Null for a task of an earlier version, and for a task that was begun elsewhere. */
  readonly lane: LaneState | null;
  /** Whether its processes run in a sandbox. Without one they have all rights of their user. */
  readonly isSandboxed: boolean;
  readonly outcome: string | null;
  /** The stage that has begun and not ended; null when there is none, and once the task has ended. */
  readonly stage: Stage | null;
  /** How its agent ended; set while the task's results are being saved. */
  readonly acted: string | null;
  /**
   * What the checks found, and for which tree; null before the checks, and when there was nothing to verify.
   */
  readonly verified: VerifiedState | null;
  /** Null when it is not parked. */
  readonly parked: ParkedState | null;
  /** The size of its work as a diff against its base; null until it ends. */
  readonly changed: {
    readonly files: number;
    readonly insertions: number;
    readonly deletions: number;
  } | null;
  /** How its last command ended; both are null while it runs, and when no command ran. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /**
   * `none`: never made, or the parent of a fork has it. `rewound`: it and HOME have to be made from the
   * snapshot.
   */
  readonly capsule: "none" | "there" | "torn_down" | "rewound";
  readonly snapshot: SnapshotState | null;
  /** The branch that its work was published on; null before. */
  readonly branch: string | null;
  /** The commit that its work was published as. A fork knows it too. */
  readonly published: string | null;
  /** Whether it began with work of earlier tasks that no commit of its base contains. */
  readonly hasUnpublished: boolean;
  /**
   * Whether a value of its environment is in its work, or in the work that it began with, and no person has
   * reviewed that yet.
   */
  readonly isHeld: boolean;
  /** Whether an earlier task of the session was given variables, whose values are no longer known. */
  readonly hadValuesBefore: boolean;
  /** The HEAD commit of the agent's own git when the previous task ended. */
  readonly headBefore: string | null;
}

export const noCommandEnded = { exitCode: null, signal: null } satisfies Partial<TaskState>;

/** The state of a task before its first record. */
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

/** The commit that the files of a task are based on once the task is over. */
export const standsOn = ({ published, base }: TaskState): string | null => published ?? base;

/** The reason in `task_ended` when a value was found in the work. */
export const SECRET_IN_WORK = "secret_in_work";
