/**
 * Owns the agent port of a task: processes in its sandbox, turns that each end with a checkpoint, and what
 * the session process provides for them.
 */
import { join } from "node:path";
import type { Writable } from "node:stream";
import type {
  AgentProcess,
  AgentTurn,
  Conversation,
  CutCall,
  Messages,
  ModelAccess,
  OutputStream,
  ProcessEnd,
  ProcessOptions,
  SettledCall,
  ToolClasses,
  ToolGate,
  Workplace,
} from "../agent/index.ts";
import { HoldfastError, type Json, type Usage, type Values } from "../contract/index.ts";
import { contactFields } from "../network/index.ts";
import { freezeTree, runCommand, thawTree } from "../process/index.ts";
import { commandLine } from "../redaction/index.ts";
import type { Turn } from "../session/index.ts";
import { assertKnown } from "../util/index.ts";
import { cutCallsOf } from "./cut-calls.ts";
import type { TaskInHand } from "./in-hand.ts";
import { type DoorView, invocationOf } from "./room/invocation.ts";
import type { OnRefused } from "./room/network.ts";
import { settledCallsOf } from "./settled-calls.ts";
import { storyOf } from "./story.ts";
import { Written } from "./written.ts";

/** What a task's processes are given. */
export interface WorkplaceOptions {
  /** Ends the processes when it aborts. */
  readonly signal?: AbortSignal | undefined;
  readonly door?: DoorView | undefined;
  /** The values of the variables that they were given by name. */
  readonly values?: Values | undefined;
  /** The way to the models of a provider. */
  readonly models?: Pick<Workplace, "model"> | undefined;
  /** Whether the task was cut off and is driven again. */
  readonly isGoingOn?: boolean | undefined;
  /** The directory in which they start by default. */
  readonly cwd?: string | undefined;
  /** The gate to the session's tools. */
  readonly gate?: ToolGate | undefined;
  readonly messages?: Messages | undefined;
  readonly onOutput?: ((chunk: Buffer, stream: OutputStream) => void) | undefined;
  /** Called once for each host that was asked for and that the lane does not name. */
  readonly onRefused?: OnRefused | undefined;
  /** Called when a process runs and its start is recorded. */
  readonly onStart?: ((pid: number, input: Writable | null) => void) | undefined;
  /** Called when a process has ended, before its files are looked at. Ends what runs beside it. */
  readonly onEnd?: (() => Promise<void>) | undefined;
}

/** Reasons for stopping a turn that may end by itself: a person's request, or a park, but not a quota. */
const GENTLE: readonly unknown[] = ["interrupt", "pause", "park"];
const PROCESS = [
  ...(["cwd", "env", "files", "hasInput", "hasTerminal"] as const),
  ...(["isEndedByAdapter", "isProtocol", "onOutput"] as const),
] satisfies (keyof ProcessOptions)[];

export class TaskWorkplace implements Workplace {
  readonly stop: AbortSignal;
  readonly messages: Messages;
  readonly #task: TaskInHand;
  readonly #around: WorkplaceOptions;

  constructor(task: TaskInHand, around: WorkplaceOptions & Pick<Workplace, "messages">) {
    this.#task = task;
    this.#around = around;
    this.messages = around.messages;
    if (around.onRefused) task.network.hear(around.onRefused);
    this.stop = around.signal ?? new AbortController().signal;
  }

  get id(): string {
    return `${this.#task.room.session.id}/${this.#task.number}`;
  }

  async directory(): Promise<string> {
    const top = this.#task.sandbox?.at ?? (await this.#task.capsule.attach()).workTree;
    return join(top, this.#around.cwd ?? ".");
  }

  get tools(): ToolClasses {
    const { isReadOnly, isWithoutCommands, hosts } = this.#task.lane;
    return { isReadOnly, isWithoutCommands, hasHosts: hosts.length > 0 };
  }

  get isGoingOn(): boolean {
    return this.#around.isGoingOn ?? false;
  }

  conversationOf(agent: string): { readonly id: string; readonly isAtThisTask: boolean } | undefined {
    const { conversation } = this.#task.room.session.state;
    if (conversation?.agent !== agent) return undefined;
    const { id, task, hasAnswered } = conversation;
    return { id, isAtThisTask: hasAnswered && task === this.#task.number };
  }

  async beginConversation(agent: string, { id: conversation, how }: Conversation): Promise<void> {
    const { room, number: task } = this.#task;
    await room.session.append("conversation_begun", { task, agent, conversation, how });
  }

  cutCalls(): Promise<readonly CutCall[]> {
    return cutCallsOf(this.#task.room);
  }

  story(): Promise<string | undefined> {
    return storyOf(this.#task);
  }

  get hasGate(): boolean {
    return this.#around.gate !== undefined;
  }

  get gate(): ToolGate {
    const { gate } = this.#around;
    if (!gate)
      throw new HoldfastError("no_gate", "this task runs without a session process, so it has no tools");
    return gate;
  }

  settledCalls(): Promise<ReadonlyMap<string, SettledCall>> {
    return settledCallsOf(this.#task);
  }

  async model(provider: string): Promise<ModelAccess> {
    const { models } = this.#around;
    if (!models) throw new HoldfastError("no_model", `this task has no way to the models of ${provider}`);
    return models.model(provider);
  }

  async beginTurn(input: Json): Promise<AgentTurn> {
    const turn = await this.#task.room.session.beginTurn(input);
    return new CheckpointedTurn(turn, async () => {
      await this.#recordContacts(turn.number);
      await this.#task.checkpoint();
    });
  }

  /** Records which hosts were asked for during a turn, and how often. */
  async #recordContacts(turn: number): Promise<void> {
    const { network, room, number: task } = this.#task;
    const counts = network.takeCounts();
    if (counts) await room.session.append("network_used", { task, turn, ...contactFields(counts) });
  }

  show(text: string): void {
    this.#around.onOutput?.(Buffer.from(text), "stdout");
  }

  async start(command: readonly string[], options: ProcessOptions = {}): Promise<AgentProcess> {
    assertKnown("start", options, PROCESS);
    return this.#task.beginnings.begin(() => this.#start(command, options));
  }

  async #start(command: readonly string[], options: ProcessOptions): Promise<AgentProcess> {
    const { session } = this.#task.room;
    const writer = this.#task.last.beginWriter();
    const invocation = await this.#invocation(command, options).catch((error: unknown) => {
      writer.end();
      throw error;
    });
    // The controller is held here. A signal of `AbortSignal.any` may be collected while it is waited for.
    const ending = new AbortController();
    const end = () => ending.abort();
    const onStop = () => {
      if (!(options.isEndedByAdapter && GENTLE.includes(this.stop.reason))) end();
    };
    this.stop.addEventListener("abort", onStop, { once: true });
    if (this.stop.aborted) onStop();
    const written = new Written(() => session.secrets);
    const started = Promise.withResolvers<{ readonly pid: number; readonly input: Writable | null }>();
    const running = runCommand({
      ...invocation,
      signal: ending.signal,
      hasInput: options.hasInput ?? false,
      onOutput: (chunk, stream) => {
        if (!(options.isProtocol && stream === "stdout")) {
          written.add(chunk, stream);
          this.#around.onOutput?.(chunk, stream);
        }
        return options.onOutput?.(chunk, stream);
      },
      onStart: async (pid, input) => {
        await session.append("process_started", { pid, command: commandLine(command) });
        this.#around.onStart?.(pid, input);
        started.resolve({ pid, input });
      },
    });
    const gone = running.finally(() => writer.end());
    const ended = this.#ended(started.promise, gone, written).finally(() =>
      this.stop.removeEventListener("abort", onStop),
    );
    // If the start fails, there is no process to wait for.
    const { pid, input } = await Promise.race([started.promise, ended.then(() => started.promise)]);
    const freeze = () => {
      freezeTree(pid);
      writer.rest();
    };
    // gate-8: an action may be at work, which the process has to wait for.
    const thaw = () =>
      void this.#task.beginnings.begin(async () => {
        writer.goOn();
        thawTree(pid);
      });
    return { pid, input, ended, end, freeze, thaw };
  }

  async #invocation(command: readonly string[], { cwd, hasTerminal, env, files }: ProcessOptions) {
    const { room, capsule, sandbox, network } = this.#task;
    const { door, values, cwd: start } = this.#around;
    await capsule.unsettle();
    const quota = await this.#task.quota();
    const around = { sandbox, quota, network, door, hasTerminal, values, env, files };
    return invocationOf(room, capsule, command, { ...around, cwd: cwd ?? start });
  }

  async #ended(
    started: Promise<{ readonly pid: number }>,
    running: ReturnType<typeof runCommand>,
    written: Written,
  ): Promise<ProcessEnd> {
    const end = await running;
    const excerpt = written.excerpt();
    await this.#around.onEnd?.();
    const { pid } = await started;
    const { exitCode, signal } = end;
    await this.#task.room.session.append("process_ended", { pid, exitCode, signal });
    return { ...end, excerpt };
  }
}

/** A turn that ends with a checkpoint. One that fails in the middle gets none: its files may be incomplete. */
class CheckpointedTurn implements AgentTurn {
  readonly number: number;
  readonly #turn: Turn;
  readonly #checkpoint: () => Promise<void>;

  constructor(turn: Turn, checkpoint: () => Promise<void>) {
    this.number = turn.number;
    this.#turn = turn;
    this.#checkpoint = checkpoint;
  }

  reportUsage: AgentTurn["reportUsage"] = (usage) => this.#turn.reportUsage(usage);

  budgetLeft: AgentTurn["budgetLeft"] = () => this.#turn.budgetLeft();

  addMessage: AgentTurn["addMessage"] = (role, content) => this.#turn.addMessage(role, content);

  callTool: AgentTurn["callTool"] = (tool, args, options) => this.#turn.callTool(tool, args, options);

  async end(usage?: Usage): Promise<void> {
    await this.#turn.end(usage);
    await this.#checkpoint();
  }

  async fail(usage?: Usage): Promise<void> {
    await this.#turn.fail(usage);
    await this.#checkpoint();
  }

  async interrupt(): Promise<void> {
    await this.#turn.interrupt();
    await this.#checkpoint();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#turn[Symbol.asyncDispose]();
  }
}
