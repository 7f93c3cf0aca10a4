/**
 * Owns the form of a task that is under way, as its stages have it in hand: what it is asked to be, its parts, and what
 * it is when it ends.
 */
import type { Capsule, DiffStat } from "../capsule/index.ts";
import type { LaneInForce } from "../lane/index.ts";
import type { Sandbox } from "../process/index.ts";
import type { HomeState } from "../session/index.ts";
import type { Checkpoint } from "./files/checkpoint.ts";
import type { LastCheckpoint } from "./files/last-checkpoint.ts";
import type { StartingOptions } from "./files/starting-point.ts";
import type { Unpublished } from "./results/publishing.ts";
import type { RoomNetwork } from "./room/network.ts";
import type { Quota } from "./room/quota.ts";
import type { Room } from "./room/room.ts";

/** Without a base: everything that the session's last task left, else HEAD. */
export interface TaskOptions extends StartingOptions {
  /** Without a sandbox nothing keeps the command from the rest of the machine. */
  readonly sandbox?: boolean;
  /** What it may do. Default: the repo's default lane. */
  readonly lane?: string;
  /** Hosts that it may reach beside those of its lane. */
  readonly hosts?: readonly string[];
  /** What its spec says of the agent definition that it goes by. */
  readonly definition?: string;
  /** What `capsule.setup` writes, while it runs. */
  readonly onSetup?: (chunk: Buffer) => void;
  /** Ends the set-up. */
  readonly signal?: AbortSignal | undefined;
  /** What it is about, for the commit of its work. Default: the session's title. */
  readonly asked?: string;
  /** HOME begins as it was then. */
  readonly home?: HomeState;
  /** The directory that its command will start in: refused if it is not there. */
  readonly cwd?: string;
  /** What it was queued as. */
  readonly request?: string;
  /** The names of the variables that it is given. */
  readonly env?: readonly string[];
}

/** How its agent ended. */
export type AskedOutcome = "done" | "failed" | "cancelled" | "interrupted";

export interface TaskEnd {
  readonly task: number;
  /** `unverified`: done, and no check has said so. */
  readonly outcome: AskedOutcome | "unverified" | "needs_review";
  readonly snapshot: string;
  readonly tree: string;
  readonly stat: DiffStat;
  readonly patch: string;
  /** Null when there was nothing to publish, or the task failed. */
  readonly branch: string | null;
  /** Why work that should be on the branch is not. */
  readonly unpublished: Unpublished | null;
  readonly omitted: readonly string[];
}

export interface TaskInHand {
  readonly room: Room;
  readonly number: number;
  readonly base: string | null;
  readonly capsule: Capsule;
  /** Undefined: its processes have none. */
  readonly sandbox: Sandbox | undefined;
  readonly lane: LaneInForce;
  readonly network: RoomNetwork;
  readonly last: LastCheckpoint;
  /** What it may take of the machine. */
  quota(): Promise<Quota>;
  checkpoint(): Promise<Checkpoint>;
  /** Nothing of the task runs after this; its files stay. After a checkpoint, forks stand on them at once. */
  rest(): Promise<void>;
}
