/**
 * Owns the forms of the events of a turn: what went in, what the agent did, what came out.
 */
import * as z from "zod/mini";
import { content, count, fields, name, task, turn } from "./fields.ts";

const usd = z.number().check(z.nonnegative());
/**
 * The usage that a turn reports itself. It is added to what was metered: an agent whose requests are metered
 * ends turns without it.
 */
const usageSchema = z.strictObject({
  inputTokens: z.optional(count),
  outputTokens: z.optional(count),
  cacheReadTokens: z.optional(count),
  cacheWriteTokens: z.optional(count),
  usd: z.optional(usd),
  model: z.optional(name),
}) satisfies z.ZodMiniType<Usage>;
/** What a turn used, as it is reported at its end. */
export type Usage = {
  /** Input tokens that were neither read from a cache nor written to one. */
  inputTokens?: number | undefined;
  /** Tokens that the model wrote. */
  outputTokens?: number | undefined;
  /** Input tokens that the provider read from its cache. */
  cacheReadTokens?: number | undefined;
  /** Input tokens that the provider wrote to its cache. */
  cacheWriteTokens?: number | undefined;
  /** Money in US dollars. */
  usd?: number | undefined;
  /** The model that was asked, by its provider's name for it. */
  model?: string | undefined;
};

export const turnEvents = {
  /**
   * The agent's own conversation, by the agent's own id. `how`: it is new; it is new and was told what had
   * happened in the session before; or an earlier one goes on.
   */
  conversation_begun: () =>
    fields({ task, agent: name, conversation: name, how: z.enum(["new", "primed", "resumed"]) }),
  turn_started: () => fields({ turn, input: content, by: z.optional(name) }),
  message_added: () => fields({ turn, role: z.enum(["assistant", "user", "system"]), content }),
  /** The intent: on disk before the tool runs. */
  tool_called: () => fields({ turn, call: name, tool: name, args: content }),
  /** The outcome. `interrupted`: the session ended in between, and whether the tool ran is not known. */
  tool_returned: () =>
    fields({
      turn,
      call: name,
      outcome: z.enum(["ok", "error", "refused", "interrupted"]),
      output: content,
      /** What a program reads from it: an exit status, a handle. */
      facts: z.optional(content),
    }),
  turn_ended: () =>
    fields({
      turn,
      outcome: z.enum(["completed", "failed", "interrupted"]),
      usage: z.optional(usageSchema),
      durationMs: count,
    }),
  /**
   * One request to a model was answered, wholly or in part. `inputTokens`: those that were neither read from a cache
   * nor written to one. `isPriced`: whether the price of the model is known; without it there is no `usd`.
   * `isEstimated`: the answer did not tell all of this.
   */
  usage_metered: () =>
    fields({
      /** None where a loop without a task reports it. */
      task: z.optional(task),
      turn: z.optional(turn),
      request: name,
      provider: name,
      model: name,
      inputTokens: count,
      outputTokens: count,
      cacheReadTokens: count,
      cacheWriteTokens: count,
      usd: z.optional(usd),
      isPriced: z.boolean(),
      isEstimated: z.optional(z.boolean()),
    }),
} as const;
