/**
 * Owns the forms of the events of a session's life, and of its budget.
 */
import * as z from "zod/mini";
import { agentDefinitionSchema } from "../agent.ts";
import { budgetSchema } from "../budget.ts";
import { count, fields, gitObject, home, name, sha256 } from "./fields.ts";

const origin = {
  session: name,
  user: name,
  /** What a person calls it, and its branch. */
  name: z.optional(name),
  agent: z.optional(name),
  /** The agent definition that it was opened from, as it was then. */
  definition: z.optional(agentDefinitionSchema),
  repo: z.optional(z.string().check(z.minLength(1), z.maxLength(4096))),
  title: z.optional(z.string().check(z.maxLength(500))),
  budget: z.optional(budgetSchema),
};

/**
 * `asked`: by a person. `idle`: nothing was left to do. `released`: by whoever had it open. `budget`, `quota`: one was
 * reached. `import`: it came from elsewhere.
 */
export const pauseReasons = ["asked", "released", "budget", "idle", "import", "quota"] as const;
export type PauseReason = (typeof pauseReasons)[number];

export const lifeEvents = {
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
  /** `request`: what it was asked by, so that whoever asked knows it again. */
  budget_raised: () => fields({ budget: budgetSchema, by: z.optional(name), request: z.optional(name) }),
  budget_reached: () =>
    fields({ limits: z.array(z.enum(["tokens", "usd", "minutes", "turns"])).check(z.minLength(1)) }),
} as const;
