/**
 * Owns the form of a task that is under way, as its stages use it: what was asked for, its parts, and its
 * result.
 */
import type { Capsule, DiffStat } from "../capsule/index.ts";
import type { Lane } from "../lane/index.ts";
import type { Frozen, Sandbox } from "../process/index.ts";
import type { HomeState } from "../session/index.ts";
import type { Beginnings } from "./files/beginnings.ts";
import type { Checkpoint } from "./files/checkpoint.ts";
import type { LastCheckpoint } from "./files/last-checkpoint.ts";
import type { StartingOptions } from "./files/starting-point.ts";
import type { Unpublished } from "./results/publishing.ts";
import type { RoomNetwork } from "./room/network.ts";
import type { Quota } from "./room/quota.ts";
import type { Room } from "./room/room.ts";

/** Without a base, the task begins with everything that the session's last task left, or with HEAD. */
export interface TaskOptions extends StartingOptions {
  /**
   * Whether its processes run in a sandbox. Without one, nothing separates the command from the rest of the
   * machine.
   */
  readonly sandbox?: boolean;
  /** What it may do. Default: the repo's default lane. */
  readonly lane?: string;
  /** Hosts that it may reach in addition to those of its lane. */
  readonly hosts?: readonly string[];
  /** The `definition` of its spec: the agent definition that it was made from. */
  readonly definition?: string;
  /** Gets the output of `capsule.setup` while it runs. */
  readonly onSetup?: (chunk: Buffer) => void;
  /** Ends the set-up. */
  readonly signal?: AbortSignal | undefined;
  /** What was asked for; used in the message of its commit. Default: the session's title. */
  readonly asked?: string;
  /** The task begins with this HOME. */
  readonly home?: HomeState;
  /** The directory in which its command will start; the task is refused if it does not exist. */
  readonly cwd?: string;
  /** The id that it was queued under. */
  readonly request?: string;
  /** The names of the variables that it is given. */
  readonly env?: readonly string[];
}

/** How its agent ended. */
export type AskedOutcome = "done" | "failed" | "cancelled" | "interrupted";

export interface TaskEnd {
  readonly task: number;
  /** `unverified`: done, but no check confirmed it. */
  readonly outcome: AskedOutcome | "unverified" | "needs_review";
  readonly snapshot: string;
  readonly tree: string;
  readonly stat: DiffStat;
  readonly patch: string;
  /** Null when there was nothing to publish, or the task failed. */
  readonly branch: string | null;
  /** Why work that should be on the branch is not there. */
  readonly unpublished: Unpublished | null;
  readonly omitted: readonly string[];
}

export interface TaskInHand {
  readonly room: Room;
  readonly number: number;
  readonly base: string | null;
  readonly capsule: Capsule;
  /** Undefined: its processes run without a sandbox. */
  readonly sandbox: Sandbox | undefined;
  readonly lane: Lane;
  readonly network: RoomNetwork;
  readonly last: LastCheckpoint;
  readonly beginnings: Beginnings;
  /** How much of the machine it may use. */
  quota(): Promise<Quota>;
  checkpoint(): Promise<Checkpoint>;
  /** Keeps its processes still, and its files as they are, until this is disposed of. */
  freeze(): Promise<Frozen>;
  /** Ends all processes in its capsule. The next process attaches the capsule again. */
  endProcesses(): Promise<void>;
  /** Ends all processes of the task; its files stay. After a checkpoint, forks can use them at once. */
  rest(): Promise<void>;
}
