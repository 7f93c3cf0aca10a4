/**
 * Owns the forms of the events of what is asked of a person, and of what is refused or let through without one.
 */
import * as z from "zod/mini";
import { content, fields, host, moment, name, sha256, task } from "./fields.ts";

export const requestEvents = {
  question_asked: () =>
    fields({ question: name, text: content, task: z.optional(task), expiresAt: z.optional(moment) }),
  question_answered: () => fields({ question: name, by: name, text: content }),
  approval_requested: () =>
    fields({
      approval: name,
      fingerprint: sha256,
      tool: name,
      args: content,
      task: z.optional(task),
      /** From then on it can't be granted. */
      expiresAt: z.optional(moment),
    }),
  approval_granted: () => fields({ approval: name, by: name, grant: content }),
  approval_denied: () => fields({ approval: name, by: name, reason: z.optional(z.string()) }),
  approval_expired: () => fields({ approval: name }),
  approval_spent: () => fields({ approval: name }),
  tool_refused: () => fields({ tool: name, reason: z.string() }),
  sandbox_waived: () => fields({ task, reason: z.string() }),
  /** A person let the task that runs reach one more host, until it ends. */
  host_allowed: () => fields({ task, host, by: name }),
} as const;
