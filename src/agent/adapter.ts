/**
 * Owns the port between a task and its agent: what an adapter is given to work with, and what it is asked to
 * do. Holdfast's own adapters and a user's harness go through the same port.
 */
import type { Writable } from "node:stream";
import type { Api } from "../config/index.ts";
import type {
  AgentSpec,
  Appended,
  EventData,
  Json,
  JsonObject,
  Parked,
  ToolsWanted,
  Usage,
} from "../contract/index.ts";
import type { ToolDescription, ToolOutcome } from "../lane/index.ts";
import type { CommandEnd } from "../process/index.ts";
import type { BudgetLeft, RequestUsage, ToolCall } from "../session/index.ts";

/** Where a process writes. */
export type OutputStream = "stdout" | "stderr";

/** How a process is started in the task's sandbox. */
export interface ProcessOptions {
  /**
   * The directory in which it starts, as a path from the top of the capsule. Default: where the task was
   * asked for.
   */
  readonly cwd?: string;
  /** Whether the adapter writes to its standard input. */
  readonly hasInput?: boolean;
  /** Whether it gets a terminal, which a person can open. */
  readonly hasTerminal?: boolean;
  /**
   * Gets its output as it comes. The output is also shown and kept, unless it is a protocol. Reading waits
   * while this works on a chunk.
   */
  readonly onOutput?: (chunk: Buffer, stream: OutputStream) => void | Promise<void>;
  /** Its standard output is for the adapter only, which shows the parts that a person should see. */
  readonly isProtocol?: boolean;
  /**
   * When a person asks for the end of the turn, or the task is parked, the adapter ends the process, and may
   * tell it first. Anything else that stops the work ends the process at once, as it does all others.
   */
  readonly isEndedByAdapter?: boolean;
  /**
   * Variables in addition to those of the task. Never secrets: they are in no record, but other programs may
   * read them.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Files that it finds in HOME when it starts. */
  readonly files?: readonly HomeFile[];
}

/** A file below HOME. The agent may write there, so this is only the content at the start. */
export interface HomeFile {
  /** The path from HOME. */
  readonly path: string;
  /** The content of the file. */
  readonly content: string | Buffer;
  /** Whether an existing file is kept. */
  readonly isKept?: boolean;
  /** Whether the file can be executed. */
  readonly isExecutable?: boolean;
  /** Whether the file is only to be read. It is removed when a later process is not given it any more. */
  readonly isReadOnly?: boolean;
}

/** A process in the task's sandbox, with all of its children. */
export interface AgentProcess {
  /** The number of the process. */
  readonly pid: number;
  /** Its standard input; null unless `hasInput` was set. */
  readonly input: Writable | null;
  /** Freezes all of them. */
  freeze(): void;
  /** Lets them run again. */
  thaw(): void;
  /** Ends all of them. */
  end(): void;
  /** Resolves when all of them have ended and that is recorded. */
  readonly ended: Promise<ProcessEnd>;
}

/** How a process ended. */
export interface ProcessEnd extends CommandEnd {
  /** The beginning and the end of its output, without the values of its environment. */
  readonly excerpt: string;
}

/** An open turn. A checkpoint of the files follows its end. */
export interface AgentTurn extends AsyncDisposable {
  /** Turns are numbered through a session, from 1. */
  readonly number: number;
  /** Adds a message to the conversation. Resolves when it is on disk. */
  addMessage(role: EventData<"message_added">["role"], content: Json): Promise<Appended>;
  /** Resolves when the call is on disk. Run the tool after that. */
  callTool(tool: string, args: Json, options?: { readonly call?: string }): Promise<ToolCall>;
  /** Reports one request to a model, so that it counts against the budget at once. */
  reportUsage(usage: RequestUsage): Promise<Appended>;
  /** What is left of the session's budget now. */
  budgetLeft(): BudgetLeft;
  /** Ends the turn as completed. A checkpoint follows. */
  end(usage?: Usage): Promise<void>;
  /** Ends the turn as failed. A checkpoint follows. */
  fail(usage?: Usage): Promise<void>;
  /** Ends the turn from outside: open calls get the outcome `interrupted`. */
  interrupt(): Promise<void>;
}

/** A message of the session's inbox. */
export interface Message {
  /** The id of the message. */
  readonly message: string;
  /** The sender: `user:NAME`, or the id of a session. */
  readonly from: string;
  /** The text of the message. */
  readonly text: string;
  /** When it was sent: ISO 8601, UTC. */
  readonly at: string;
  /** The request of the agent that it tells the decision of. */
  readonly about?: string;
}

/** The session's inbox, as its agent sees it. */
export interface Messages {
  /** Returns the oldest message that the agent has not confirmed. Waits for one, at most this long. */
  next(waitMs: number, gone: AbortSignal): Promise<Message | undefined>;
  /** Confirms that the agent has read the message. */
  entered(message: string): Promise<void>;
  /** Starts writing each message to this input, one per line. */
  open(input: Writable): void;
  /** Stops writing messages to the input. */
  close(): Promise<void>;
}

/** How an agent reaches a model: an address inside its sandbox, and a key that is valid only there. */
export interface ModelAccess {
  /** The address, inside the sandbox. */
  readonly url: string;
  /** The API of the provider. */
  readonly api: Api;
  /** The key, which is valid only there. */
  readonly key: string;
  /** The credential that is really used: a key of the provider, or the login of an agent. */
  readonly kind: "key" | "login";
}

/** A conversation of an agent with its model, by the agent's own id. */
export interface Conversation {
  /** The agent's own id of the conversation. */
  readonly id: string;
  /** `new`; `primed`: new, and told what happened in the session before; `resumed`. */
  readonly how: EventData<"conversation_begun">["how"];
}

/** The session's tools behind its gate: the lane judges each call, and the call is recorded. */
export interface ToolGate {
  /** The tools that the lane has. */
  list(): Promise<readonly ToolDescription[]>;
  /**
   * Calls a tool in the open turn. `call`: its id in the journal; use the same one after a crash to find its
   * result.
   */
  call(tool: string, args: JsonObject, options?: GateCall): Promise<GateAnswer>;
  /** Where an MCP client of the agent finds the tools to add to its own; undefined: there are none to add. */
  access(wanted: ToolsWanted): Promise<GateAccess | undefined>;
}

/** How a tool is called. */
export interface GateCall {
  /** The id of the call in the journal. */
  readonly call?: string;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** What a call of a tool came to. */
export interface GateAnswer {
  /** `held`: a person has not decided yet; the agent may make the same call again. */
  readonly outcome: ToolOutcome["outcome"] | "held";
  /** The answer, for the agent. */
  readonly text: string;
  /** The answer, for programs. */
  readonly facts?: JsonObject;
}

/** Where an agent's MCP client finds the gate. */
export interface GateAccess {
  /** The address, for streamable HTTP. */
  readonly url: string;
  /** Headers that each request to the address needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it replaces the agent's own tools. */
  readonly isInstead: boolean;
  /**
   * A program that speaks MCP on its standard input and output, for agents that start their servers
   * themselves.
   */
  readonly shim: readonly string[];
}

/** A call of the task that has an outcome. */
export interface SettledCall {
  /** `ok`, `error`, `refused` or `interrupted`. */
  readonly outcome: string;
  /** What the call returned. */
  readonly output: Json;
  /** The result for programs, such as an exit status. */
  readonly facts?: JsonObject;
}

/** A call of a turn that was cut off. */
export interface CutCall {
  /** The id of the call. */
  readonly call: string;
  /** The name of the tool. */
  readonly tool: string;
  /** The arguments of the call. */
  readonly args: Json;
  /** `interrupted`: it is not known whether the call had its effect. */
  readonly outcome: string;
  /** What the call returned, as far as it is known. */
  readonly output: Json;
}

/** What a task may use. */
export interface ToolClasses {
  /** Whether its files are read-only. */
  readonly isReadOnly: boolean;
  /** Whether its agent may run no commands. */
  readonly isWithoutCommands: boolean;
  /** Whether it may reach any host. */
  readonly hasHosts: boolean;
}

/** The place where an agent works: its task's capsule, its session's journal, and its inbox. */
export interface Workplace {
  /** Made from session and task. Ids that are derived from it are the same after a crash. */
  readonly id: string;
  /** The directory in which its processes start, as they see it. */
  directory(): Promise<string>;
  /** What the task may use. */
  readonly tools: ToolClasses;
  /** Whether the task was cut off before and is driven again. */
  readonly isGoingOn: boolean;
  /** The session's last conversation with this agent, and whether this task's request is already in it. */
  conversationOf(agent: string): { readonly id: string; readonly isAtThisTask: boolean } | undefined;
  /** Records that the agent uses this conversation from now on. */
  beginConversation(agent: string, conversation: Conversation): Promise<void>;
  /** Lists the calls of the conversation's last turns, back to a turn that ended by itself; oldest first. */
  cutCalls(): Promise<readonly CutCall[]>;
  /**
   * A summary of the session so far, for an agent that does not know it; undefined when there is nothing to
   * tell.
   */
  story(): Promise<string | undefined>;
  /** The way to a provider's models. Fails if there is none. */
  model(provider: string): Promise<ModelAccess>;
  /** Whether there is a gate for tools. Only a task in a session process has one. */
  readonly hasGate: boolean;
  /** The session's tools. Fails if there is no gate. */
  readonly gate: ToolGate;
  /** Calls of this task that have an outcome, by id. An adapter uses them to continue after the last one. */
  settledCalls(): Promise<ReadonlyMap<string, SettledCall>>;
  /** Aborted when the turn has to end. */
  readonly stop: AbortSignal;
  /** The session's inbox. */
  readonly messages: Messages;
  /** Begins a turn. A checkpoint of the files follows its end. */
  beginTurn(input: Json): Promise<AgentTurn>;
  /** Starts a process, inside or outside of a turn. Resolves when it runs and that is recorded. */
  start(command: readonly string[], options?: ProcessOptions): Promise<AgentProcess>;
  /** Shows a text to people who are watching, and adds it to the task's output. */
  show(text: string): void;
}

/** How an agent's work on a task ended. */
export type AgentEnd =
  | {
      /** `stopped`: it was asked to end before it was done. */
      readonly outcome: "done" | "failed" | "stopped";
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  /** The task is parked, with no open turn and no process, and is driven again later. */
  | { readonly outcome: "parked"; readonly parked: Parked };

/** What drives one kind of agent, through the workplace of a task. */
export interface Adapter<Spec extends AgentSpec = AgentSpec> {
  readonly name: Spec["adapter"];
  /**
   * Whether it is driven again after a cut or a park, on the files as they are. Otherwise its work is saved
   * as it is.
   */
  goesOn(spec: Spec): boolean;
  drive(work: Workplace, spec: Spec): Promise<AgentEnd>;
}
