/**
 * Owns the forms of events of rooms that are not built yet, checks and memory, so that journals stay readable.
 */
import * as z from "zod/mini";
import { content, count, fields, gitObject, name, task } from "./fields.ts";

export const laterEvents = {
  check_started: () => fields({ task, check: name, tree: gitObject }),
  check_ended: () =>
    fields({
      task,
      check: name,
      tree: gitObject,
      passed: z.boolean(),
      exitCode: z.int(),
      output: content,
    }),
  fact_remembered: () => fields({ fact: name, text: content }),
  fact_revoked: () => fields({ fact: name }),
  context_compacted: () => fields({ tokensBefore: count, tokensAfter: count, summary: content }),
} as const;
