/**
 * Owns the forms of the events of a session's life, and of its budget.
 */
import * as z from "zod/mini";
import { agentDefinitionSchema } from "../agent.ts";
import { budgetSchema } from "../budget.ts";
import { count, fields, gitObject, home, name, sha256 } from "./fields.ts";

const MAX_LABELS = 32;
/** In JSON, of all tags or all metadata: a record keeps longer fields outside of itself, where the fold does not look. */
const MAX_LABELS_BYTES = 2000;
const isShort = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).length <= MAX_LABELS_BYTES;

/** Words of a harness's own, to find its sessions by. */
export const tagsSchema = z
  .array(z.string().check(z.minLength(1), z.maxLength(100)))
  .check(z.maxLength(MAX_LABELS), z.refine(isShort, `is longer than ${MAX_LABELS_BYTES} bytes`));
/** What a harness wants to know of its session again: names and short texts. */
export const metadataSchema = z
  .record(z.string().check(z.minLength(1), z.maxLength(64)), z.string().check(z.maxLength(500)))
  .check(
    z.refine((value) => Object.keys(value).length <= MAX_LABELS, `has more than ${MAX_LABELS} names`),
    z.refine(isShort, `is longer than ${MAX_LABELS_BYTES} bytes`),
  );

const origin = {
  session: name,
  user: name,
  /** The name by which a person calls it, which is also part of its branch. */
  name: z.optional(name),
  agent: z.optional(name),
  /** The agent definition that it was opened from, as it was then. */
  definition: z.optional(agentDefinitionSchema),
  repo: z.optional(z.string().check(z.minLength(1), z.maxLength(4096))),
  title: z.optional(z.string().check(z.maxLength(500))),
  budget: z.optional(budgetSchema),
};

/**
 * `asked`: by a person. `idle`: nothing was left to do. `released`: by the owner that had it open. `budget`,
 * `quota`: a limit was reached. `import`: it was imported.
 */
export const pauseReasons = ["asked", "released", "budget", "idle", "import", "quota"] as const;
export type PauseReason = (typeof pauseReasons)[number];

export const lifeEvents = {
  session_opened: () =>
    fields({ ...origin, tags: z.optional(tagsSchema), metadata: z.optional(metadataSchema) }),
  /** `by`: the program that saw that it had crashed; without it, a person resumed it. */
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
  /** A person wants to keep it: neither retention nor gc touches it until the person ends that. */
  session_kept: () => fields({ isKept: z.boolean() }),
  /** The first record of a fork's own: everything before it is the parent's history. */
  session_forked: () =>
    fields({ ...origin, parent: name, parentSeq: count, parentHash: sha256, atTurn: count }),
  session_imported: () =>
    fields({
      user: name,
      /** Another name than it had, if its own was taken here. */
      name: origin.name,
      repo: origin.repo,
      fromHome: name,
      headSeq: count,
      headHash: sha256,
      /** Unread messages that were for another user. */
      droppedMessages: z.optional(count),
      /** HOME as it was imported; without it, there was none. */
      home: z.optional(home),
    }),
  /**
   * Files, HOME and conversation went back to the end of a turn. `history`: the turns that led there, as
   * pairs of the first and last of each run of turns. `checkpoint`: what was left behind. The other fields
   * are those of the task at that turn; without a snapshot it had no files.
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
  /** `request`: the id of the request for it, by which the caller recognizes it. */
  budget_raised: () => fields({ budget: budgetSchema, by: z.optional(name), request: z.optional(name) }),
  budget_reached: () =>
    fields({ limits: z.array(z.enum(["tokens", "usd", "minutes", "turns"])).check(z.minLength(1)) }),
} as const;
