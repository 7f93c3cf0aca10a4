/**
 * Owns the forms of the events of requests to a person, and of what is refused or let through without one.
 */
import * as z from "zod/mini";
import { toolClasses } from "../lane.ts";
import { content, fields, gitObject, host, moment, name, sha256, task, turn } from "./fields.ts";

const actionOutcome = z.enum(["ok", "error", "unknown"]);

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
      turn: z.optional(turn),
      /** The class of the tool, which is why a person is asked. */
      class: z.optional(z.enum(toolClasses)),
      lane: z.optional(name),
      /** What exactly is asked for, as an `Action`: the fingerprint is of its canonical form. */
      action: z.optional(content),
      /** The tree of the work that it would act on, and the commit that a person compares it with. */
      tree: z.optional(gitObject),
      base: z.optional(gitObject),
      /**
       * What a person should know beside the action: what would be reached, as which commit, with which
       * variables.
       */
      facts: z.optional(content),
      /** The last approval of the same action that was spent, and its outcome. Absent: it is unknown. */
      previous: z.optional(name),
      previousOutcome: z.optional(actionOutcome),
      /** From then on it can't be granted. */
      expiresAt: z.optional(moment),
    }),
  /** `expiresAt`: from then on it can't be spent. */
  approval_granted: () => fields({ approval: name, by: name, grant: content, expiresAt: z.optional(moment) }),
  approval_denied: () => fields({ approval: name, by: name, reason: z.optional(z.string()) }),
  approval_expired: () => fields({ approval: name }),
  /**
   * The intent: on disk before an action begins. `approval`: the id of the action itself, if it needs no
   * grant. `call`: the call that it is done for.
   */
  action_begun: () => fields({ approval: name, task, tool: name, call: z.optional(name) }),
  approval_spent: () => fields({ approval: name }),
  /** The outcome. `unknown`: it was begun, and what came of it can't be told. */
  action_ended: () =>
    fields({
      approval: name,
      task,
      tool: name,
      outcome: actionOutcome,
      exitCode: z.optional(z.int()),
      output: z.optional(content),
      /** What a program reads from it, as for a call. */
      facts: z.optional(content),
    }),
  tool_refused: () => fields({ tool: name, reason: z.string() }),
  sandbox_waived: () => fields({ task, reason: z.string() }),
  /** A person let the running task reach one more host, until the task ends. */
  host_allowed: () => fields({ task, host, by: name }),
} as const;
