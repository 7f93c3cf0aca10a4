/**
 * Owns the forms of the events of a turn: what went in, what the agent did, what came out.
 */
import * as z from "zod/mini";
import { content, count, fields, name, task, turn } from "./fields.ts";

const usd = z.number().check(z.nonnegative());
/** What a turn says of itself. It adds to what was metered: an agent whose requests are metered ends turns without it. */
const usageSchema = z.strictObject({
  inputTokens: z.optional(count),
  outputTokens: z.optional(count),
  usd: z.optional(usd),
});
export type Usage = z.infer<typeof usageSchema>;

export const turnEvents = {
  /**
   * The agent's own conversation, by the agent's own id. `how`: it is new; it is new and was told what had happened in
   * the session before; or an earlier one goes on.
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
    }),
  turn_ended: () =>
    fields({
      turn,
      outcome: z.enum(["completed", "failed", "interrupted"]),
      usage: z.optional(usageSchema),
      durationMs: count,
    }),
  /**
   * One request to a model was answered, wholly or in part. `inputTokens`: those that were neither read from a cache nor
   * written to one. `isPriced`: whether the price of the model is known; without it there is no `usd`.
   */
  usage_metered: () =>
    fields({
      task,
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
    }),
} as const;
