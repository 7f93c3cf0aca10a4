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

const MAX_TEXT = 200_000;

const described = <T extends z.ZodMiniType>(schema: T, description: string): T => {
  z.globalRegistry.add(schema, { description });
  return schema;
};

const line = () => z.string().check(z.minLength(1), z.maxLength(4096));
const text = () => z.string().check(z.minLength(1), z.maxLength(MAX_TEXT));
const flag = (description: string) => z.optional(described(z.boolean(), description));
const named = (description: string) => z.optional(described(line(), description));

export const newSessionForm = z.strictObject({
  name: named("Exactly this name; without one, the session is called after its title."),
  title: z.optional(described(z.string().check(z.maxLength(500)), "What it is about.")),
  repo: named("A path in the repo. Without one, its tasks begin with an empty directory."),
  agent: named("The agent that its tasks go to where they name none."),
  budget: z.optional(budgetSchema),
  tags: z.optional(tagsSchema),
  metadata: z.optional(metadataSchema),
});

/** What a task is: exactly one of `prompt`, `command` and `script`. */
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
  hosts: z.optional(described(hostListSchema, "Hosts that it may reach beside those of its lane.")),
  env: z.optional(
    described(
      z.record(z.string(), z.string()),
      "Variables for its environment. Their values are in no record.",
    ),
  ),
  priority: z.optional(described(z.int(), "Higher begins earlier. Default: 0.")),
  budget: z.optional(
    described(budgetSchema, "Limits of the session that are raised before the task begins."),
  ),
});
/** A task as the library and the API are asked for it. */
export type TaskRequest = z.infer<typeof taskForm>;

export const beginForm = z.strictObject({ session: z.optional(newSessionForm), task: taskForm });

export const messageForm = z.strictObject({
  // How long one may be is the inbox's to say.
  text: described(z.string().check(z.minLength(1)), "What the agent is told."),
  id: named("`msg_…`: a message that is sent again under the same id arrives once."),
  from: named("The id of the session that sends it; without one, the user does."),
});

export const forkForm = z.strictObject({
  atTurn: z.optional(described(z.int().check(z.nonnegative()), "The last turn that the fork has.")),
  title: newSessionForm.shape.title,
  name: newSessionForm.shape.name,
});

export const mergeForm = z.strictObject({
  into: named("The branch; without one, the one that the checkout is on."),
  isSquashed: flag("As one commit."),
  isKept: flag("With the agent's own commits."),
  isReviewed: flag("With `isKept`: a person has looked at these commits."),
  isUnverified: flag("Without checks. That is on record."),
});

export const branchForm = z.strictObject({ isReviewed: flag("A person has looked at the work.") });
export const rebaseForm = z.strictObject({
  onto: named("The branch; without one, the one that the checkout is on."),
});
export const rewindForm = z.strictObject({ toTurn: z.int().check(z.nonnegative()) });
export const teardownForm = z.strictObject({
  dropIgnored: flag("Let go of ignored files beyond the limit."),
});
export const budgetForm = budgetSchema;
export const cancelForm = z.strictObject({
  request: described(line(), "The task's request, or the end of it."),
});
export const keepForm = z.strictObject({ isKept: z.boolean() });
export const grantForm = z.strictObject({
  fingerprint: described(line(), "The whole fingerprint of the action."),
});
export const denyForm = z.strictObject({ reason: described(text(), "What the agent is told.") });
export const answerForm = z.strictObject({ text: described(text(), "The answer to the question.") });
export const noFields = z.strictObject({});

/** Throws `invalid_data` with the name of the field that is wrong. */
export function parseForm<T extends z.ZodMiniType>(form: T, value: unknown): z.output<T> {
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const where = issue.path.length > 0 ? `${issue.path.join(".")}.` : "";
    throw new HoldfastError("invalid_data", `${where}${issue.keys[0]}: there is no such field`);
  }
  const field = issue?.path.join(".") || "the input";
  throw new HoldfastError("invalid_data", `${field}: ${issue?.message}`, { field });
}
