/**
 * Owns the form of a script: what a scripted model does, step by step. One request gets one step. A step
 * without a call ends the agent's turn, and the next request gets the step after it.
 */
import type { Usage } from "./api/api.ts";

/** What the model wants done. It becomes a call of a tool that the agent offers for it. */
export type Intent =
  /** Writes a file. */
  | { readonly write: { readonly path: string; readonly content: string; readonly cwd?: string } }
  /** Reads a file. */
  | { readonly read: { readonly path: string; readonly cwd?: string } }
  /** Replaces a text in a file. */
  | {
      readonly edit: {
        readonly path: string;
        readonly find: string;
        readonly replace: string;
        readonly cwd?: string;
      };
    }
  /** Runs a shell command. */
  | { readonly bash: { readonly command: string } }
  /** Calls a tool of an MCP server. */
  | { readonly mcp: { readonly server: string; readonly tool: string; readonly args?: object } }
  /**
   * A tool by its own name, with exactly these arguments; also one that was not offered, which models
   * sometimes do.
   */
  | { readonly tool: { readonly name: string; readonly args?: object; readonly isUnoffered?: boolean } };

type Deed =
  | { readonly say: string; readonly call?: Intent | readonly Intent[] }
  | { readonly say?: string; readonly call: Intent | readonly Intent[] };

/** What goes wrong before the step is given, and how often in one conversation; once by default. */
type Trouble =
  | { readonly fault?: never }
  | {
      readonly fault: "error";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** In place of what the API sends with this status. */
      readonly body?: object;
      readonly times?: number | "always";
    }
  /** No answer at all; half an answer, and then the connection is cut; half an answer, and then nonsense. */
  | { readonly fault: "hang" | "drop" | "malformed"; readonly times?: number | "always" };

interface Manner {
  /** Before the first byte. */
  readonly delayMs?: number;
  /** The answer comes in this many pieces, cut anywhere, with a pause between them. */
  readonly pieces?: number;
  /** The default for what is not named: 100 in, 20 out, and nothing from the cache or into it. */
  readonly usage?: Partial<Usage>;
}

/** What one request gets: a text, calls, or a fault. */
export type Step = Deed & Trouble & Manner;
/** The steps of one conversation, in order. */
export type Script = readonly Step[];
/** Scripts by their names. */
export type Scripts = Readonly<Record<string, Script>>;

const DEFAULT_USAGE: Usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 };

export function intentsOf({ call }: Pick<Step, "call">): readonly Intent[] {
  if (call === undefined) return [];
  return Array.isArray(call) ? call : [call as Intent];
}

export function usageOfStep({ usage }: Pick<Step, "usage">): Usage {
  return { ...DEFAULT_USAGE, ...usage };
}

/** For all its steps, each given once. */
export function usageOfScript(script: Script): Usage {
  const figures = script.map(usageOfStep);
  const sum = (name: keyof Usage) => figures.reduce((total, figure) => total + figure[name], 0);
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    cacheReadTokens: sum("cacheReadTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
  };
}
