/**
 * Owns the forms of the events of verification: checks with their receipts, what they add up to, and what the policy
 * names in a task's work.
 */
import * as z from "zod/mini";
import { content, count, fields, gitObject, name, task } from "./fields.ts";

/** `unverified`: no check ran. It is never a pass. */
export const verdicts = ["passed", "failed", "unverified"] as const;
export type Verdict = (typeof verdicts)[number];

/** What makes a person look at work before it is published. */
const policyRules = [
  "secret",
  "markers",
  "binary",
  "large",
  "mode",
  "submodule",
  "link",
  "protected",
] as const;
export type PolicyRule = (typeof policyRules)[number];

const path = z.string().check(z.maxLength(4200));
const paths = z.array(path);

export const verifyEvents = {
  check_started: () => fields({ task, check: name, tree: gitObject }),
  /** The receipt: it counts for this tree, and for no other. */
  check_ended: () =>
    fields({
      task,
      check: name,
      tree: gitObject,
      passed: z.boolean(),
      /** Missing where it was ended by a signal, by us or by the kernel. */
      exitCode: z.optional(z.int()),
      signal: z.optional(name),
      /** Why it failed, where its exit status does not say so. */
      reason: z.optional(z.string()),
      command: z.optional(z.string()),
      durationMs: z.optional(count),
      /** The commit that the tree is measured against. */
      base: z.optional(gitObject),
      lane: z.optional(name),
      output: content,
    }),
  /**
   * `into`: the branch that the tree was to become, of a merge. `skipped`: checks none of whose paths changed. `watched`:
   * changed files that have a say in what the checks do. `uncovered`: changed files that no check covers.
   */
  verification_ended: () =>
    fields({
      task,
      tree: gitObject,
      verdict: z.enum(verdicts),
      into: z.optional(name),
      skipped: z.optional(z.array(name)),
      watched: z.optional(z.array(z.looseObject({ path, why: name }))),
      uncovered: z.optional(paths),
    }),
  /** Before work is published. `more`: findings that are not named. Never with the value of a secret. */
  policy_applied: () =>
    fields({
      task,
      tree: gitObject,
      findings: z.array(z.looseObject({ rule: z.enum(policyRules), path, detail: z.optional(z.string()) })),
      more: z.optional(count),
    }),
} as const;
