/**
 * Owns the forms of the events of a task, and of what it leaves.
 */
import * as z from "zod/mini";
import { toolClasses } from "../lane.ts";
import { content, count, fields, gitObject, home, host, moment, name, sha256, task, turn } from "./fields.ts";

/** The stages of a task, in order. */
export const stages = ["route", "capsule", "plan", "act", "verify", "approve", "persist"] as const;
export type Stage = (typeof stages)[number];

/**
 * `budget`: the session's budget is reached. `price`: no price is known for its model, so a budget in money can't
 * be kept. `usage_limit`: the provider's limit is reached. `key`: there is no key for it. `approval`, `answer`: a person has to decide something, or to answer.
 */
export const parkReasons = ["budget", "price", "usage_limit", "key", "approval", "answer"] as const;
/** Why a task is parked. */
export type ParkReason = (typeof parkReasons)[number];

/** Why a task stands still, with no process, until it is let go on. */
export interface Parked {
  readonly reason: ParkReason;
  /** From then on it may go on by itself. */
  readonly until?: string | undefined;
  /** The detail: which limit, or which provider's key. */
  readonly detail?: string | undefined;
  /** What a person has to decide or to answer: the ids of the requests that the agent waits for. */
  readonly requests?: readonly string[] | undefined;
}

export const taskEvents = {
  /** A task gets its number when it starts. Until then it is named by its request. */
  task_queued: () => fields({ request: name, spec: content, priority: z.optional(z.int()) }),
  /**
   * `snapshot`: its files began with this one, not with the base alone. `carried`: its files are those that
   * an earlier task left; with that task's outcome, the commit that they were based on and their tree, and
   * whether some of its work is in no commit of the base.
   */
  task_started: () =>
    fields({
      task,
      request: z.optional(name),
      /** What it is about, in short. */
      asked: z.optional(z.string().check(z.maxLength(500))),
      /** The names of the variables that it was given. */
      env: z.optional(z.array(name)),
      base: z.optional(gitObject),
      snapshot: z.optional(gitObject),
      carried: z.optional(
        z.looseObject({
          task,
          outcome: z.optional(name),
          from: z.optional(gitObject),
          tree: gitObject,
          hasUnpublished: z.optional(z.boolean()),
        }),
      ),
      home: z.optional(home),
      lane: z.optional(name),
      /**
       * From its lane: whether its capsule is read-only, whether its agent may run no commands, and which
       * hosts it may reach.
       */
      isReadOnly: z.optional(z.boolean()),
      isWithoutCommands: z.optional(z.boolean()),
      hosts: z.optional(z.array(host)),
      /** From its lane, if they are not the usual ones: its tools by class, and which classes ask. */
      tools: z.optional(
        z.looseObject({
          read: z.array(name),
          write: z.array(name),
          external: z.array(name),
          approval: z.array(z.enum(toolClasses)),
        }),
      ),
      /** What the repo's file asked for beyond that, and no person has accepted. */
      notAccepted: z.optional(z.array(z.looseObject({ key: name, value: content }))),
    }),
  stage_started: () => fields({ task, stage: z.enum(stages) }),
  stage_ended: () => fields({ task, stage: z.enum(stages), outcome: z.optional(name) }),
  /** It never began: it could not be started, or was cancelled. */
  task_refused: () => fields({ request: name, code: name, reason: z.string() }),
  /** It began, and what it left can't be kept as it should be: its capsule stays as it is. */
  task_halted: () => fields({ task, code: name, reason: z.string() }),
  /**
   * It is open, and has no process. Its turns are closed, and its files are in a checkpoint. `requests`: what a
   * person has to decide or to answer before it goes on.
   */
  task_parked: () =>
    fields({
      task,
      reason: z.enum(parkReasons),
      until: z.optional(moment),
      detail: z.optional(z.string().check(z.maxLength(500))),
      requests: z.optional(z.array(name)),
    }),
  /** `by`: the person or the program that lets it go on. */
  task_unparked: () => fields({ task, by: name }),
  task_planned: () => fields({ task, plan: content, accepted: z.boolean() }),
  task_ended: () =>
    fields({
      task,
      /** `interrupted`: its process ended in the middle, and whether it would have succeeded is not known. */
      outcome: z.enum(["done", "unverified", "failed", "needs_review", "cancelled", "interrupted"]),
      files: z.optional(count),
      insertions: z.optional(count),
      deletions: z.optional(count),
      /** The commit that HEAD of the agent's own git is at. */
      head: z.optional(gitObject),
      /** Why its work is not on the session's branch, where it should be. */
      unpublished: z.optional(z.looseObject({ code: name, reason: z.string() })),
    }),
  /** `turn`, for the output: the last turn whose output is in it. `isCut`: some of it is missing. */
  artifact_written: () =>
    fields({
      task,
      name,
      sha256,
      bytes: count,
      turn: z.optional(turn),
      isCut: z.optional(z.boolean()),
    }),
  summary_written: () => fields({ task, summary: content, tokens: count }),
} as const;
