/**
 * Owns a task that is under way, for a session process or a harness: its capsule, the place where its agent
 * works, its checkpoints, and its end. `stages/` owns what happens at each stage.
 *
 * task-1 Nothing that a task does is visible in the user's repo before it is published, and then only its
 *    branch is.
 * task-2 A capsule is removed only after a snapshot of all of it is on disk and in the journal.
 */
import type { Writable } from "node:stream";
import { exec, type Messages, type OutputStream, type Workplace } from "../agent/index.ts";
import type { Capsule } from "../capsule/index.ts";
import { type ExecSpec, HoldfastError } from "../contract/index.ts";
import type { Lane } from "../lane/index.ts";
import { type CommandEnd, type Frozen, runCommand, type Sandbox } from "../process/index.ts";
import { Beginnings } from "./files/beginnings.ts";
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
  /** The checkpoint after the turn, if nothing can have changed the files since. */
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
  readonly sandbox: Sandbox | undefined;
  readonly lane: Lane;
  readonly network: RoomNetwork;
  readonly last: LastCheckpoint;
  readonly beginnings = new Beginnings();
  #inbox: OwnInbox | undefined;

  constructor(
    room: Room,
    capsule: Capsule,
    of: {
      readonly sandbox: Sandbox | undefined;
      readonly lane: Lane;
    },
  ) {
    this.room = room;
    this.capsule = capsule;
    this.sandbox = of.sandbox;
    this.last = new LastCheckpoint({ canStray: !of.sandbox });
    this.lane = of.lane;
    const { dir } = capsule.layout;
    this.network = RoomNetwork.find(dir) ?? new RoomNetwork(dir, of.lane, Object.values(capsule.spec.ports));
  }

  /** The task that the session is at, with its capsule. */
  static async current(room: Room, options: Pick<TaskOptions, "sandbox"> = {}): Promise<Task> {
    const capsule = await openCapsule(room);
    if (!capsule) throw new HoldfastError("no_capsule", `session ${room.session.id} has no capsule now`);
    const lane = await laneOf(room, capsule.spec.base);
    const quota = await readQuota(room, capsule.spec.base);
    const sandbox = (options.sandbox ?? true) ? await sandboxOf(room, { quota, lane }) : undefined;
    return new Task(room, capsule, { sandbox, lane });
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

  /** The session's inbox, when there is no session process that takes messages in. */
  get messages(): Messages {
    this.#inbox ??= new OwnInbox(this.room);
    return this.#inbox;
  }

  /** The place where an agent of this task works, for Holdfast's adapters and for a harness. */
  workplace(around: WorkplaceOptions = {}): Workplace {
    return new TaskWorkplace(this, { ...around, messages: around.messages ?? this.messages });
  }

  /**
   * Runs a command in the capsule as one turn, and takes a checkpoint after it. Its processes have ended when
   * this returns.
   */
  async runTurn(command: readonly string[], around: TurnOptions = {}): Promise<TurnEnd> {
    const spec: ExecSpec = { adapter: "exec", command: [...command], input: "nothing", restart: false };
    const { outcome, exitCode, signal } = await exec.drive(this.workplace(around), spec);
    const checkpoint = this.last.current;
    return { exitCode, signal, isInterrupted: outcome === "stopped", ...(checkpoint && { checkpoint }) };
  }

  /**
   * Runs a person's command in a terminal, in the agent's sandbox. It is ended before the agent's turn ends.
   */
  async runBeside(command: readonly string[], options: BesideOptions): Promise<CommandEnd> {
    const { running } = await this.beginnings.begin(async () => {
      const invocation = await invocationOf(this.room, this.capsule, command, {
        sandbox: this.sandbox,
        quota: await this.quota(),
        network: this.network,
        door: options.door,
        hasTerminal: true,
      });
      const writer = this.last.beginWriter();
      return {
        running: runCommand({ ...invocation, ...options, hasInput: true }).finally(() => writer.end()),
      };
    });
    return running;
  }

  /**
   * Begins the network before it is needed. If that fails, the first process that needs it tries again.
   */
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

  /**
   * Takes a checkpoint, runs the checks, writes the patch, and publishes if all succeeded. `at`: a checkpoint
   * that has the files as they are.
   */
  async end(outcome: AskedOutcome, { at }: { readonly at?: Checkpoint | undefined } = {}): Promise<TaskEnd> {
    const end = await endTask(this, outcome, { at: at === this.last.current ? at : undefined });
    if (!end) throw new Error("the checks ended without a verdict, although nothing stopped them");
    return end;
  }

  /** gate-8 */
  async freeze(): Promise<Frozen> {
    const pause = await this.beginnings.pause();
    try {
      // The files have to be reachable before the processes are frozen.
      await this.capsule.attach();
      const frozen = this.capsule.freezeAll();
      const end = () => {
        frozen[Symbol.dispose]();
        pause[Symbol.dispose]();
      };
      return { thaw: frozen.thaw, [Symbol.dispose]: end };
    } catch (error) {
      pause[Symbol.dispose]();
      throw error;
    }
  }

  async endProcesses(): Promise<void> {
    await this.capsule.detach();
    this.last.endStrays();
  }

  async rest(): Promise<void> {
    const before = this.last.current;
    // Nothing writes any more, so the files go to disk while the last processes end.
    const synced = before && this.capsule.sync();
    await this.network.close();
    await this.endProcesses();
    const { current } = this.last;
    if (current) await this.capsule.settle(current.snapshot, current === before ? synced : undefined);
  }
}
