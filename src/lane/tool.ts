/**
 * Owns the port between a tool and the code that lets it be called: the description of every tool, and its
 * two kinds. A plain tool runs. A tool that acts outside of the session first states exactly what it would
 * do, so that a person can be asked, and then does that and nothing else.
 */
import type { Grant, Json, JsonObject, ToolClass } from "../contract/index.ts";

/** A tool, as an agent is offered it. */
export interface ToolDescription {
  /** The name by which it is called. */
  readonly name: string;
  /** Whether it reads, writes in the capsule, or acts outside of the session. */
  readonly class: ToolClass;
  /** What it does, for the agent. */
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly input: JsonObject;
  /** Its schema is foreign and is checked elsewhere: checking it in this process could take forever. */
  readonly isForeign?: boolean;
}

/** The surroundings of one call. */
export interface CallContext {
  /** Aborted when its caller hangs up or cancels it, when it takes too long, and when the turn ends. */
  readonly signal: AbortSignal;
  /** Reports progress, to a caller that wants it. */
  progress(text: string): void;
}

/** The surroundings of an action. The processes of the task stand still during it. */
export interface ActingContext extends CallContext {
  /** The approval, or an id of the action's own if it needs none. */
  readonly action: string;
  /** Lets a process of the tool's own go on, with everything that it started. */
  thaw(pid: number): void;
}

/** What a call of a tool came to. */
export interface ToolOutcome {
  /** `refused`: it did nothing. */
  readonly outcome: "ok" | "error" | "refused";
  /** For the agent, complete. The code that passes it on cuts long texts. */
  readonly text: string;
  /** For programs: an exit status, a handle. */
  readonly facts?: JsonObject;
  /** The request whose decision this is. A message about the decision has nothing more to tell. */
  readonly decided?: string;
}

/** What a call would do, to the last detail. */
export interface Prepared {
  /** What would really be reached, in the form that the fingerprint contains. */
  readonly target: Json;
  /** The tree that it would act on; null if it acts on no files. */
  readonly tree: string | null;
  /** The commit that the tree is compared with. */
  readonly base: string | null;
  /** What a person should know before they decide, one line each, in this order. */
  readonly facts: readonly (readonly [what: string, text: string])[];
  /** Does it, once. The grant is spent before anything happens. */
  act(grant: ActingGrant, call: ActingContext): Promise<ToolOutcome>;
}

/** What permits an action; `null` if its lane asks for no grant. */
export type ActingGrant = Grant | null;

export interface PlainTool extends ToolDescription {
  /** It only reads, and records nothing itself: its call may be recorded together with its outcome. */
  readonly isSilent?: boolean;
  run(args: JsonObject, call: CallContext): Promise<ToolOutcome>;
}

export interface ActingTool extends ToolDescription {
  /**
   * Its declaration, apart from its input: its words, its hosts, the names of its variables. It is in the
   * fingerprint.
   */
  readonly declaration: Json;
  /**
   * The agent's processes stay frozen from here until `act` has ended. Throws or refuses what no person
   * should be asked about.
   */
  prepare(args: JsonObject, call: CallContext): Promise<Prepared | ToolOutcome>;
}

export type Tool = PlainTool | ActingTool;

export const isActing = (tool: Tool): tool is ActingTool => "prepare" in tool;
