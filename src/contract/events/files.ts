/**
 * Owns the forms of the events of a task's files: its capsule, its snapshots, and its work in the user's
 * repo.
 */
import * as z from "zod/mini";
import { count, fields, gitObject, home, name, sha256, task } from "./fields.ts";

/**
 * `replaced`: the tip of ours that the branch was moved away from, which is kept. `base`: after a rebase,
 * what the task's work is compared with from then on.
 */
const publication = () =>
  fields({
    task,
    branch: name,
    commit: gitObject,
    replaced: z.optional(gitObject),
    base: z.optional(gitObject),
    isReviewed: z.optional(z.boolean()),
  });

/** For a merge that kept the agent's own commits. `authors`: those other than the user. */
const kept = {
  isKept: z.optional(z.boolean()),
  isReviewed: z.optional(z.boolean()),
  authors: z.optional(z.array(z.string())),
};

export const fileEvents = {
  capsule_created: () =>
    fields({
      task,
      strategy: name,
      base: z.optional(gitObject),
      ports: z.optional(z.record(name, count)),
      /** The paths of `capsule.include` that did not exist. */
      missing: z.optional(z.array(z.string())),
      durationMs: z.optional(count),
    }),
  /**
   * `omitted`: ignored files beyond the limit, which are not in it. `unanswered`: files that are in it and
   * not part of the tree, because git gave no answer about them; some of them are named.
   */
  snapshot_taken: () =>
    fields({
      task,
      snapshot: gitObject,
      tree: gitObject,
      manifest: sha256,
      turn: count,
      omitted: z.optional(count),
      unanswered: z.optional(count),
      unansweredPaths: z.optional(z.array(z.string())),
      home: z.optional(home),
    }),
  checkpoint_taken: () => fields({ turn: count, snapshot: z.optional(gitObject) }),
  capsule_restored: () => fields({ task, snapshot: gitObject }),
  capsule_torn_down: () => fields({ task, snapshot: z.optional(gitObject), freedBytes: count }),
  /**
   * The intent: on disk before the branch is moved, so that after a crash a tip that we set is recognized as
   * ours.
   */
  publishing_started: publication,
  work_published: publication,
  /** The agent's own commits, as a branch beside the session's. */
  commits_published: () =>
    fields({ task: count, branch: name, commit: gitObject, isReviewed: z.optional(z.boolean()) }),
  /**
   * The intent: on disk before the branch `into` is moved, so that a merge that was cut off is recognized as
   * done.
   */
  merge_started: () =>
    fields({
      task,
      into: name,
      commit: gitObject,
      from: gitObject,
      isSquashed: z.optional(z.boolean()),
      isUnverified: z.optional(z.boolean()),
      ...kept,
    }),
  /**
   * `from`: the commit of the session's branch that was merged. `isUnverified`: a person asked for no checks.
   */
  work_merged: () =>
    fields({
      task,
      into: name,
      commit: gitObject,
      from: z.optional(gitObject),
      isSquashed: z.optional(z.boolean()),
      isUnverified: z.optional(z.boolean()),
      ...kept,
    }),
  /** The branch `into` did not get the commit of the last `merge_started`. */
  merge_given_up: () => fields({ task, into: name, commit: gitObject }),
  /** `more`: how many paths are not named. */
  merge_conflicted: () => fields({ task, into: name, paths: z.array(z.string()), more: z.optional(count) }),
} as const;
