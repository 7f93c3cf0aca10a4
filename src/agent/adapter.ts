/**
 * Owns the port between a task and its agent: what an adapter is given to work with, and what it is asked. Nothing
 * here is for our own adapters alone: a loop of one's own is driven through the same.
 */
import type { Writable } from "node:stream";
import type { Api } from "../config/index.ts";
import type { AgentSpec, Appended, EventData, Json, Parked, Usage } from "../contract/index.ts";
import type { CommandEnd } from "../process/index.ts";
import type { ToolCall } from "../session/index.ts";

export type OutputStream = "stdout" | "stderr";

export interface ProcessOptions {
  /** Where in the capsule it starts, by its path from the top. Default: where the task was asked for. */
  readonly cwd?: string;
  /** Whether the adapter writes to its standard input. */
  readonly hasInput?: boolean;
  /** Whether it stands in a terminal, which a person can open. */
  readonly hasTerminal?: boolean;
  /**
   * What it writes, as it comes; it is shown and kept in any case, but for a protocol. No more is read while this is at
   * work on it.
   */
  readonly onOutput?: (chunk: Buffer, stream: OutputStream) => void | Promise<void>;
  /** Its standard output is for the adapter alone, which shows what a person should see of it. */
  readonly isProtocol?: boolean;
  /**
   * Where a person asks for the end of the turn, the adapter sees to the end of the process: it may tell it first. Whatever
   * else stops the work ends it at once, as it ends all others.
   */
  readonly isEndedByAdapter?: boolean;
  /** Variables that it gets beside those of its task. Never a secret: they stand in no record, but others may read them. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it finds in HOME when it starts. */
  readonly files?: readonly HomeFile[];
}

/** A file below HOME. The agent's own HOME is writable: this says how it starts, not what it stays. */
export interface HomeFile {
  /** From HOME. */
  readonly path: string;
  readonly content: string | Buffer;
  /** Whether one that is there is left as it is. */
  readonly isKept?: boolean;
}

/** A process in the task's sandbox, with all that it starts. */
export interface AgentProcess {
  readonly pid: number;
  readonly input: Writable | null;
  /** Stops all of it where it stands. */
  freeze(): void;
  /** Lets it go on. */
  thaw(): void;
  /** Ends all of it. */
  end(): void;
  /** Resolves when all of it is gone, and that is on record. */
  readonly ended: Promise<ProcessEnd>;
}

export interface ProcessEnd extends CommandEnd {
  /** The beginning and the end of what it wrote, without the values of its environment. */
  readonly excerpt: string;
}

/** One turn, open. Its end is followed by a checkpoint of the files. */
export interface AgentTurn extends AsyncDisposable {
  readonly number: number;
  addMessage(role: EventData<"message_added">["role"], content: Json): Promise<Appended>;
  /** Resolves when the intent is on disk: run the tool after that. */
  callTool(tool: string, args: Json, options?: { readonly call?: string }): Promise<ToolCall>;
  end(usage?: Usage): Promise<void>;
  fail(usage?: Usage): Promise<void>;
  /** Ends it from outside: open calls get the outcome `interrupted`. */
  interrupt(): Promise<void>;
}

export interface Message {
  readonly message: string;
  readonly from: string;
  readonly text: string;
  readonly at: string;
}

/** The session's inbox, as its agent sees it. */
export interface Messages {
  /** The oldest that the agent has not said to have; waits for one, so long at most. */
  next(waitMs: number, gone: AbortSignal): Promise<Message | undefined>;
  /** The agent has it. */
  entered(message: string): Promise<void>;
  /** From now on each is written to this input, a line each. */
  open(input: Writable): void;
  close(): Promise<void>;
}

/** Where an agent reaches a model: an address inside its sandbox, and a key that opens nothing anywhere else. */
export interface ModelAccess {
  readonly url: string;
  /** How the provider is spoken to. */
  readonly api: Api;
  readonly key: string;
  /** What stands behind it: a key of the provider's, or the login of an agent. */
  readonly kind: "key" | "login";
}

/** What an agent holds with its model, by the agent's own id. */
export interface Conversation {
  readonly id: string;
  readonly how: EventData<"conversation_begun">["how"];
}

/** What a task may use. */
export interface ToolClasses {
  readonly isReadOnly: boolean;
  readonly isWithoutCommands: boolean;
  readonly hasHosts: boolean;
}

/** Where an agent works: the capsule of its task, its session's record, and its inbox. */
export interface Workplace {
  /** Of session and task: what is made from it is the same after a crash. */
  readonly id: string;
  /** Where its processes start, as they see it. */
  directory(): Promise<string>;
  readonly tools: ToolClasses;
  /** Whether the task was cut off before, and is driven again. */
  readonly isGoingOn: boolean;
  /** The session's last conversation with this agent, and whether the agent is at what this task asks of it there. */
  conversationOf(agent: string): { readonly id: string; readonly isAtThisTask: boolean } | undefined;
  /** Puts on record that it is held from now on. */
  beginConversation(agent: string, conversation: Conversation): Promise<void>;
  /** Calls of the last turn that were cut off, in words: whether each had its effect is not known. */
  cutCalls(): Promise<readonly string[]>;
  /** What happened in the session before, in words for an agent that does not know it; undefined where nothing did. */
  story(): Promise<string | undefined>;
  /** The way to a provider's models. Fails where there is none. */
  model(provider: string): Promise<ModelAccess>;
  /** Aborted when the turn is to end. */
  readonly stop: AbortSignal;
  readonly messages: Messages;
  beginTurn(input: Json): Promise<AgentTurn>;
  /** Inside a turn or outside of one. Resolves when it runs, and that is on record. */
  start(command: readonly string[], options?: ProcessOptions): Promise<AgentProcess>;
  /** Shows a text to those who look on, and keeps it with the task's output. */
  show(text: string): void;
}

export type AgentEnd =
  | {
      /** `stopped`: it was asked to end before it was done. */
      readonly outcome: "done" | "failed" | "stopped";
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  /** It stands still, with no turn open and no process, and is driven again when it is let go on. */
  | { readonly outcome: "parked"; readonly parked: Parked };

export interface Adapter<Spec extends AgentSpec = AgentSpec> {
  readonly name: Spec["adapter"];
  /** Whether it is driven again after a cut or a park, on the files as they are; else its work is kept as it is. */
  goesOn(spec: Spec): boolean;
  drive(work: Workplace, spec: Spec): Promise<AgentEnd>;
}
