/**
 * Owns one task that is under way, as a session process and a harness of one's own have it in hand: its capsule, the
 * place where its agent works, its checkpoints, and its end. What happens at each stage stands in `stages/`.
 *
 * T1 Nothing that a task does is visible in the user's repo before it is published, and then only its branch.
 * T2 A capsule is taken away only after a snapshot of all of it is on disk and in the journal.
 */
import type { Writable } from "node:stream";
import { exec, type Messages, type OutputStream, type Workplace } from "../agent/index.ts";
import type { Capsule } from "../capsule/index.ts";
import { type ExecSpec, HoldfastError } from "../contract/index.ts";
import type { LaneInForce } from "../lane/index.ts";
import { type CommandEnd, runCommand, type Sandbox } from "../process/index.ts";
import { type Checkpoint, takeCheckpoint } from "./files/checkpoint.ts";
import { LastCheckpoint } from "./files/last-checkpoint.ts";
import type { AskedOutcome, TaskEnd, TaskInHand, TaskOptions } from "./in-hand.ts";
import { OwnInbox } from "./inbox/own-inbox.ts";
import { type InvocationOptions, invocationOf } from "./room/invocation.ts";
import { laneOf } from "./room/lane.ts";
import { RoomNetwork } from "./room/network.ts";
import type { Quota } from "./room/quota.ts";
import { currentLimits, openCapsule, type Room, readQuota } from "./room/room.ts";
import { sandboxOf } from "./room/sandbox.ts";
import { endTask } from "./stages/ending.ts";
import { TaskWorkplace, type WorkplaceOptions } from "./workplace.ts";

export interface TurnEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isInterrupted: boolean;
  /** Where the files are as it left them, for certain. */
  readonly checkpoint?: Checkpoint;
}

export interface TurnOptions extends WorkplaceOptions {
  readonly onOutput?: (chunk: Buffer, stream: OutputStream) => void;
}

export interface BesideOptions extends Pick<InvocationOptions, "door"> {
  readonly onOutput: (chunk: Buffer) => void;
  readonly onStart: (pid: number, input: Writable | null) => void;
  readonly signal: AbortSignal;
}

export class Task implements TaskInHand {
  readonly room: Room;
  readonly capsule: Capsule;
  readonly missingIncludes: readonly string[];
  readonly sandbox: Sandbox | undefined;
  readonly lane: LaneInForce;
  readonly network: RoomNetwork;
  readonly last = new LastCheckpoint();
  #inbox: OwnInbox | undefined;

  constructor(
    room: Room,
    capsule: Capsule,
    of: {
      readonly sandbox: Sandbox | undefined;
      readonly lane: LaneInForce;
      readonly missingIncludes: readonly string[];
    },
  ) {
    this.room = room;
    this.capsule = capsule;
    this.sandbox = of.sandbox;
    this.lane = of.lane;
    this.network = RoomNetwork.of(capsule.layout.dir, of.lane, Object.values(capsule.spec.ports));
    this.missingIncludes = of.missingIncludes;
  }

  /** The task that the session is at, with its capsule. */
  static async current(room: Room, options: Pick<TaskOptions, "sandbox"> = {}): Promise<Task> {
    const capsule = await openCapsule(room);
    if (!capsule) throw new HoldfastError("no_capsule", `session ${room.session.id} has no capsule now`);
    const lane = await laneOf(room, capsule.spec.base);
    const quota = await readQuota(room, capsule.spec.base);
    const sandbox = (options.sandbox ?? true) ? await sandboxOf(room, { quota, lane }) : undefined;
    return new Task(room, capsule, { sandbox, lane, missingIncludes: [] });
  }

  get number(): number {
    return this.capsule.spec.task;
  }

  get base(): string | null {
    return this.capsule.spec.base;
  }

  quota(): Promise<Quota> {
    return readQuota(this.room, this.base);
  }

  /** The session's inbox, where no session process takes it in. */
  get messages(): Messages {
    this.#inbox ??= new OwnInbox(this.room);
    return this.#inbox;
  }

  /** Where an agent of this task works: ours, and one's own. */
  workplace(around: WorkplaceOptions = {}): Workplace {
    return new TaskWorkplace(this, { ...around, messages: around.messages ?? this.messages });
  }

  /** One turn: a command in the capsule, and a checkpoint behind it. Its processes are gone when this returns. */
  async runTurn(command: readonly string[], around: TurnOptions = {}): Promise<TurnEnd> {
    const spec: ExecSpec = { adapter: "exec", command: [...command], input: "nothing", restart: false };
    const { outcome, exitCode, signal } = await exec.drive(this.workplace(around), spec);
    const checkpoint = this.last.current;
    // In a sandbox nothing outlives the command.
    const isCertain = this.sandbox !== undefined && checkpoint !== undefined;
    return { exitCode, signal, isInterrupted: outcome === "stopped", ...(isCertain && { checkpoint }) };
  }

  /** A person's command in a terminal, beside those of the agent: in the same sandbox, and ended before its turn is. */
  async runBeside(command: readonly string[], options: BesideOptions): Promise<CommandEnd> {
    const invocation = await invocationOf(this.room, this.capsule, command, {
      sandbox: this.sandbox,
      quota: await this.quota(),
      network: this.network,
      door: options.door,
      hasTerminal: true,
    });
    const writer = this.last.beginWriter();
    return runCommand({ ...invocation, ...options, hasInput: true }).finally(() => writer.end());
  }

  /** Begun before it is needed. Whether it could be is told to the first process that does. */
  openNetwork(): void {
    if (!this.sandbox) return;
    this.capsule
      .attach()
      .then((view) => this.network.environment(view))
      .catch(() => {});
  }

  checkpoint(): Promise<Checkpoint> {
    return this.last.take(async () =>
      takeCheckpoint(this.room, this.capsule, await currentLimits(this.room)),
    );
  }

  /** Checkpoint, checks, patch, and the branch if it succeeded. `at`: a checkpoint that has the files as they are. */
  async end(outcome: AskedOutcome, { at }: { readonly at?: Checkpoint | undefined } = {}): Promise<TaskEnd> {
    const end = await endTask(this, outcome, { at: at === this.last.current ? at : undefined });
    if (!end) throw new Error("checks that nothing stops came to no end");
    return end;
  }

  async rest(): Promise<void> {
    await this.network.close();
    await this.capsule.detach();
    const { current } = this.last;
    if (current) await this.capsule.settle(current.snapshot);
  }
}
