/**
 * Owns the forms of the events of verification: checks with their receipts, the verdict, and what the policy
 * names in a task's work.
 */
import * as z from "zod/mini";
import { content, count, fields, gitObject, name, task } from "./fields.ts";

/** `unverified`: no check ran. It is never a pass. */
export const verdicts = ["passed", "failed", "unverified"] as const;
export type Verdict = (typeof verdicts)[number];

/** Reasons for a person to look at work before it is published. */
const policyRules = [
  "secret",
  "markers",
  "binary",
  "large",
  "mode",
  "submodule",
  "link",
  "protected",
  "message",
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
      /** Missing if the check was ended by a signal, of ours or of the kernel. */
      exitCode: z.optional(z.int()),
      signal: z.optional(name),
      /** Why it failed, if its exit status does not tell. */
      reason: z.optional(z.string()),
      command: z.optional(z.string()),
      durationMs: z.optional(count),
      /** The commit that the tree is compared with. */
      base: z.optional(gitObject),
      lane: z.optional(name),
      output: content,
    }),
  /**
   * `into`: for a merge, the branch that the tree was to become. `skipped`: checks none of whose paths
   * changed. `watched`: changed files that decide what the checks do. `uncovered`: changed files that no
   * check covers. `more`: how many of each are not named.
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
      more: z.optional(z.looseObject({ watched: count, uncovered: count })),
    }),
  /**
   * Before work is published. `more`: the number of findings that are not named. Never with the value of a
   * secret.
   */
  policy_applied: () =>
    fields({
      task,
      tree: gitObject,
      findings: z.array(z.looseObject({ rule: z.enum(policyRules), path, detail: z.optional(z.string()) })),
      more: z.optional(count),
      stat: z.optional(z.looseObject({ files: count, insertions: count, deletions: count })),
    }),
} as const;
