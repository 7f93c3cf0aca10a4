/**
 * Owns the forms of what the library and the API are asked for, one for each operation that takes more than a session.
 * Both check their input with these, and the OpenAPI document is made from them.
 */
import * as z from "zod/mini";
import {
  agentNameSchema,
  budgetSchema,
  HoldfastError,
  hostListSchema,
  laneNameSchema,
  MAX_SCRIPT,
  metadataSchema,
  modelSchema,
  tagsSchema,
} from "../contract/index.ts";
import { unknownOption } from "../util/index.ts";
import type { TaskRequest } from "./task-request.ts";

const MAX_TEXT = 200_000;

const described = <T extends z.ZodMiniType>(schema: T, description: string): T => {
  z.globalRegistry.add(schema, { description });
  return schema;
};

const line = () => z.string().check(z.minLength(1), z.maxLength(4096));
const text = () => z.string().check(z.minLength(1), z.maxLength(MAX_TEXT));
const flag = (description: string) => z.optional(described(z.boolean(), description));
const named = (description: string) => z.optional(described(line(), description));
/** Each use of a budget means something else, so each has a form of its own. */
const budget = (description: string) => described(z.strictObject({ ...budgetSchema.shape }), description);

export const newSessionForm = z.strictObject({
  name: named("Exactly this name; without one, the session is called after its title."),
  title: z.optional(described(z.string().check(z.maxLength(500)), "What it is about.")),
  repo: named("A path in the repo. Without one, its tasks begin with an empty directory."),
  agent: named("The agent for tasks that name none."),
  budget: z.optional(budget("The limits of the session. A limit that is missing is not set.")),
  tags: z.optional(described(tagsSchema, "Words of your own, to list it by.")),
  metadata: z.optional(
    described(metadataSchema, "Names and short texts of your own, which are shown with it."),
  ),
});

/** TaskRequest describes the same for an editor. */
export const taskForm = z.strictObject({
  prompt: z.optional(described(text(), "What an agent is to do, in plain words.")),
  agent: z.optional(
    described(agentNameSchema, "Which agent gets the prompt; without one, as `holdfast run` chooses."),
  ),
  model: z.optional(described(modelSchema, "Which model the agent asks.")),
  isContinued: flag("Whether the prompt continues the session's conversation with that agent."),
  command: z.optional(described(z.array(z.string()).check(z.minLength(1)), "A program and its arguments.")),
  isRestarted: flag("Whether the command is started again after a crash of its session process."),
  script: z.optional(
    described(
      z.string().check(z.minLength(1), z.maxLength(MAX_SCRIPT)),
      "The text of a script (docs/script.md).",
    ),
  ),
  vars: z.optional(
    described(z.record(z.string(), z.string()), "Variables of the script. They are on record."),
  ),
  title: named("What the task is about, in the commit of its work."),
  base: named("The commit that it begins with; without one, what the session's last task left."),
  isFresh: flag("Begin with the repo's default base, whatever the last task left."),
  cwd: named("The directory of the repo to start in, by its path from the top."),
  lane: z.optional(described(laneNameSchema, "What the task may do; without one, the repo's default lane.")),
  hosts: z.optional(described(hostListSchema, "Hosts that it may reach in addition to those of its lane.")),
  env: z.optional(
    described(
      z.record(z.string(), z.string()),
      "Variables for its environment, in addition to those that settings.yaml and the agent's definition name. Their values are in no record.",
    ),
  ),
  priority: z.optional(described(z.int(), "Higher begins earlier. Default: 0.")),
  budget: z.optional(
    budget(
      "New limits of the session, set before the task begins, each at least as high as before. Refused while the session runs.",
    ),
  ),
}) satisfies z.ZodMiniType<TaskRequest>;

export const beginForm = z.strictObject({ session: z.optional(newSessionForm), task: taskForm });

export const messageForm = z.strictObject({
  // The inbox limits the length.
  text: described(z.string().check(z.minLength(1)), "The text that the agent gets."),
  id: named("`msg_…`: a message that is sent again under the same id arrives once."),
  from: named("The id of the session that sends it; without one, the user does."),
  wake: flag(
    "Whether the message starts a task if the session is at rest and its agent is known. Only a user's message does. Default: true.",
  ),
});

export const forkForm = z.strictObject({
  atTurn: z.optional(described(z.int().check(z.nonnegative()), "The last turn that the fork has.")),
  title: newSessionForm.shape.title,
  name: newSessionForm.shape.name,
});

export const mergeForm = z.strictObject({
  into: named("The branch; without one, the one that the checkout is on."),
  isSquashed: flag("As one commit."),
  keepCommits: flag("With the agent's own commits."),
  isReviewed: flag("With `keepCommits`: a person has looked at these commits."),
  isUnverified: flag("Without checks. That is on record."),
});

export const branchForm = z.strictObject({ isReviewed: flag("A person has looked at the work.") });
export const rebaseForm = z.strictObject({
  onto: named("The branch; without one, the one that the checkout is on."),
});
export const rewindForm = z.strictObject({
  toTurn: described(z.int().check(z.nonnegative()), "The turn; 0 is the beginning."),
});
export const teardownForm = z.strictObject({
  dropIgnored: flag("Delete ignored files beyond the limit."),
});
export const budgetForm = budget("Amounts to add to limits that are set.");
export const cancelForm = z.strictObject({
  request: described(line(), "The task's request, or the end of it."),
});
export const keepForm = z.strictObject({
  isKept: described(z.boolean(), "False: allow retention and gc to archive or delete it again."),
});
export const handOffForm = z.strictObject({
  to: described(line(), "The person who gets the files."),
  directory: named("The directory to make; without one, a new one beside the repo."),
});
export const takeBackForm = z.strictObject({
  directory: named("Where the files are now, if they were moved."),
  unchanged: flag("Ignore the person's files: the session continues with the files that it had."),
});
const most = (description: string) =>
  z.optional(described(z.nullable(z.int().check(z.positive())), description));
export const limitsForm = z.strictObject({
  maxSessions: most("How many sessions run at the same time; null removes the limit."),
  maxMemoryBytes: most("How much memory they use together; null removes the limit."),
});
export const grantForm = z.strictObject({
  fingerprint: described(line(), "The whole fingerprint of the action."),
});
export const denyForm = z.strictObject({ reason: described(text(), "The text that the agent gets.") });
export const answerForm = z.strictObject({ text: described(text(), "The answer to the question.") });
export const noFields = z.strictObject({});

/** Throws `invalid_data` with the name of the field that is wrong. */
export function parseForm<T extends z.ZodMiniType>(form: T, value: unknown): z.output<T> {
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  const { where, issue } = firstIn(parsed.error);
  if (issue?.code === "unrecognized_keys")
    throw new HoldfastError(
      "invalid_data",
      `${[...issue.path, issue.keys[0]].join(".")}: there is no such field`,
    );
  throw new HoldfastError("invalid_data", `${where || "the input"}: ${issue?.message}`, { field: where });
}

/** The same for a method of the library, which the message names. */
export function parseOptions<T extends z.ZodMiniObject>(
  method: string,
  form: T,
  value: unknown,
): z.output<T> {
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  const { where, issue } = firstIn(parsed.error);
  if (issue?.code === "unrecognized_keys")
    throw unknownOption([method, ...issue.path].join("."), String(issue.keys[0]), namesIn(form, issue.path));
  throw new HoldfastError(
    "invalid_data",
    where === "" ? `${method}: ${issue?.message}` : `${method}: ${where}: ${issue?.message}`,
    { field: where },
  );
}

function firstIn({ issues: [issue] }: z.core.$ZodError) {
  return { issue, where: issue?.path.join(".") ?? "" };
}

/** The names that are possible at this place of a form. */
function namesIn(form: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const inner = form instanceof z.ZodMiniOptional ? form.def.innerType : form;
  if (!(inner instanceof z.ZodMiniObject)) return [];
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(inner.shape);
  const next = inner.shape[String(first)];
  return next ? namesIn(next, rest) : [];
}
