/**
 * Owns the list of all events: the vocabulary of the journal. One entry is a fact that happened, in the past
 * tense. No I/O and no clock: a browser can import this file.
 *
 * Rules for a change:
 * E1 An event type is never renamed or reused; a field may be added if it is optional.
 * E2 Whatever the fold reads is small: numbers, names, ids. Long content is only ever carried along,
 *    because a field over 4 KiB is stored as a blob and the fold never opens one.
 * E3 Unknown fields are kept: a newer writer's record passes through an older reader unharmed.
 */
import * as z from "zod/mini";
import { budgetSchema } from "./budget.ts";
import "./words.ts";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

const name = z.string().check(z.minLength(1), z.maxLength(200));
const count = z.int().check(z.nonnegative());
const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const gitObject = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));
/** Text or structured parts, as the agent's protocol has them: carried along, never interpreted here. */
const content = z.custom<Json>((value) => value !== undefined, "is missing");
const turn = z.int().check(z.positive());
const task = z.int().check(z.positive());
/** As a record's own `at`: the two are compared as they stand. */
const moment = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));

/** What a task goes through, in order. */
export const stages = ["route", "capsule", "plan", "act", "verify", "approve", "persist"] as const;
export type Stage = (typeof stages)[number];

export const usageSchema = z.strictObject({
  inputTokens: z.optional(count),
  outputTokens: z.optional(count),
  usd: z.optional(z.number().check(z.nonnegative())),
});
const origin = {
  session: name,
  user: name,
  /** What a person calls it, and its branch. */
  name: z.optional(name),
  agent: z.optional(name),
  repo: z.optional(z.string().check(z.minLength(1), z.maxLength(4096))),
  title: z.optional(z.string().check(z.maxLength(500))),
  budget: z.optional(budgetSchema),
};
const fields = z.looseObject;
/** HOME as it was; without a snapshot, empty. */
const home = z.looseObject({
  snapshot: z.optional(gitObject),
  manifest: z.optional(sha256),
  /** Files beyond the limit, which are not in it. */
  omitted: z.optional(count),
});

/**
 * `asked`: by a person. `idle`: nothing was left to do. `released`: by whoever had it open. `budget`, `quota`: one was
 * reached. `import`: it came from elsewhere.
 */
export const pauseReasons = ["asked", "released", "budget", "idle", "import", "quota"] as const;
export type PauseReason = (typeof pauseReasons)[number];

/** Every event type, with the form of its data; each is made when it is first needed, because a start is short. */
export const eventForms = {
  // The session's life.
  session_opened: () => fields(origin),
  /** `by`: who saw that it had crashed; a person, where nobody is named. */
  session_resumed: () =>
    fields({
      from: name,
      by: z.optional(name),
      tornBytes: z.optional(count),
      brokenFile: z.optional(z.string()),
    }),
  session_paused: () => fields({ reason: z.enum(pauseReasons) }),
  session_closed: () => fields({}),
  session_archived: () => fields({}),
  /** A person wants it to stay: neither retention nor gc touches it, until they say otherwise. */
  session_kept: () => fields({ isKept: z.boolean() }),
  /** The first record of a fork's own: everything before it is the parent's history. */
  session_forked: () =>
    fields({ ...origin, parent: name, parentSeq: count, parentHash: sha256, atTurn: count }),
  session_imported: () =>
    fields({
      user: name,
      /** Another one than it had, where that was taken here. */
      name: origin.name,
      repo: origin.repo,
      fromHome: name,
      headSeq: count,
      headHash: sha256,
      /** Unread messages, which were for another user. */
      droppedMessages: z.optional(count),
      /** HOME as it came along; without it, none did. */
      home: z.optional(home),
    }),
  /**
   * Files, HOME and conversation went back to the end of a turn. `history`: the turns that led there, as pairs of the
   * first and the last of those that follow each other. `checkpoint`: what was left behind. The other fields are those
   * of the task at that turn; without a snapshot it had no files.
   */
  session_rewound: () =>
    fields({
      toTurn: count,
      fromTurn: count,
      history: z.array(z.tuple([count, count])),
      checkpoint: z.optional(gitObject),
      snapshot: z.optional(gitObject),
      tree: z.optional(gitObject),
      manifest: z.optional(sha256),
      unanswered: z.optional(count),
      base: z.optional(gitObject),
      published: z.optional(gitObject),
      head: z.optional(gitObject),
      hasUnpublished: z.optional(z.boolean()),
      isHeld: z.optional(z.boolean()),
      home: z.optional(home),
    }),
  session_handed_off: () => fields({ to: name, directory: z.optional(z.string()) }),
  session_returned: () => fields({ by: name }),

  // A turn: what went in, what the agent did, what came out.
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

  budget_raised: () => fields({ budget: budgetSchema }),
  budget_reached: () =>
    fields({ limits: z.array(z.enum(["tokens", "usd", "minutes", "turns"])).check(z.minLength(1)) }),

  // Tasks and what they leave.
  /** A task gets its number when it starts: until then it goes by its request. */
  task_queued: () => fields({ request: name, spec: content, priority: z.optional(z.int()) }),
  /**
   * `snapshot`: its files began with this one, not with the base alone. `carried`: they are those that a task before it
   * left; with that task's outcome, the commit that they stood on and their tree, and whether some of its work is in no
   * commit of the base.
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
    }),
  stage_started: () => fields({ task, stage: z.enum(stages) }),
  stage_ended: () => fields({ task, stage: z.enum(stages), outcome: z.optional(name) }),
  /** It never began: it could not be started, or was taken back. */
  task_refused: () => fields({ request: name, code: name, reason: z.string() }),
  /** It began, and what it left can't be kept as it should: its capsule stays as it is. */
  task_halted: () => fields({ task, code: name, reason: z.string() }),
  task_planned: () => fields({ task, plan: content, accepted: z.boolean() }),
  task_ended: () =>
    fields({
      task,
      /** `interrupted`: its process ended in the middle, and whether it would have succeeded is not known. */
      outcome: z.enum(["done", "unverified", "failed", "needs_review", "cancelled", "interrupted"]),
      files: z.optional(count),
      insertions: z.optional(count),
      deletions: z.optional(count),
      /** The commit that the agent's own git stands on. */
      head: z.optional(gitObject),
      /** Why its work is not on the session's branch, where it should be. */
      unpublished: z.optional(z.looseObject({ code: name, reason: z.string() })),
    }),
  /** `turn`, of the output: the last turn whose output is in it. `isCut`: not all of it is. */
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

  // Capsules: the files' half of a checkpoint.
  capsule_created: () =>
    fields({
      task,
      strategy: name,
      base: z.optional(gitObject),
      ports: z.optional(z.record(name, count)),
      /** Of `capsule.include`, what was not there. */
      missing: z.optional(z.array(z.string())),
      durationMs: z.optional(count),
    }),
  /**
   * `omitted`: ignored files beyond the limit, which are not in it. `unanswered`: files that are in it and not part of
   * the tree, because git gave no answer about them; some of them are named.
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
  /** The intent: on disk before the branch is moved, so that a tip which we set is known for ours after a crash. */
  publishing_started: () => fields({ task, branch: name, commit: gitObject }),
  /** `replaced`: the tip of ours that the branch was moved away from, which is kept. */
  work_published: () => fields({ task, branch: name, commit: gitObject, replaced: z.optional(gitObject) }),
  /** The agent's own commits, as a branch beside the session's. */
  commits_published: () => fields({ task: count, branch: name, commit: gitObject }),
  work_merged: () => fields({ task, into: name, commit: gitObject }),
  merge_conflicted: () => fields({ task, into: name, paths: z.array(z.string()) }),

  // The inbox. Received and entered the context are two facts.
  message_received: () => fields({ message: name, from: name, text: content }),
  /** The intent, where a message is written to an agent that can't say that it has it. */
  message_handed: () => fields({ message: name, turn: z.optional(turn) }),
  message_entered_context: () => fields({ message: name, turn: z.optional(turn), certain: z.boolean() }),
  message_set_aside: () => fields({ message: name, reason: z.string() }),
  message_sent: () => fields({ message: name, to: name, text: content }),
  question_asked: () =>
    fields({ question: name, text: content, task: z.optional(task), expiresAt: z.optional(moment) }),
  question_answered: () => fields({ question: name, by: name, text: content }),

  // The gate.
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
  host_contacted: () => fields({ host: name, allowed: z.boolean() }),

  // Checks: the receipt names the tree.
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

  // Memory.
  fact_remembered: () => fields({ fact: name, text: content }),
  fact_revoked: () => fields({ fact: name }),
  context_compacted: () => fields({ tokensBefore: count, tokensAfter: count, summary: content }),

  // Processes.
  /** More than its share of the disk, of files or of processes: its turn was ended. */
  quota_reached: () =>
    fields({
      limit: z.enum(["bytes", "files", "processes", "free_space"]),
      used: count,
      allowed: count,
    }),
  process_started: () => fields({ pid: count, command: z.string() }),
  /** A person looks into the files of a command that runs, from beside it. */
  shell_opened: () => fields({ shell: name, by: name }),
  shell_closed: () => fields({ shell: name }),
  process_ended: () => fields({ pid: count, exitCode: z.nullable(z.int()), signal: z.nullable(z.string()) }),

  /** Events of other harnesses: the name is theirs, and so is the rest. */
  custom: () => fields({ name }),
} as const satisfies Record<string, () => z.ZodMiniType>;

export type EventType = keyof typeof eventForms;
export type EventData<T extends EventType> = z.input<ReturnType<(typeof eventForms)[T]>>;

const made = new Map<EventType, z.ZodMiniType>();

export function eventSchema(type: EventType): z.ZodMiniType {
  const schema = made.get(type) ?? eventForms[type]();
  made.set(type, schema);
  return schema;
}
export type Usage = z.infer<typeof usageSchema>;

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventForms, type);
}
