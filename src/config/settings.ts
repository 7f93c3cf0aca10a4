/**
 * Owns `settings.yaml` in the home: what the user has decided for all repos. No repo can change it.
 */
import * as z from "zod/mini";
import { agentNameSchema, budgetSchema, MAX_VARIABLES, variableSchema } from "../contract/index.ts";
import { IN_HOME, settingsPath } from "../util/index.ts";
import { orNothing, parseDocument } from "./document.ts";
import { pathSchema } from "./path.ts";
import { keysSection, loginsSection, providersSection, strayKeys, variablesSection } from "./providers.ts";
import { outputLimit, quotaSection } from "./quota.ts";

const MAX_PATHS = 200;
const days = z.number().check(z.nonnegative());
const retention = z.strictObject({
  archive_closed_days: z._default(days, 30),
  /** By default, nothing is ever deleted. */
  delete_archived_days: z.optional(days),
});
const sandbox = z.strictObject({
  /** Which of the user's files tasks see, read-only, in addition to those that tools need. */
  read: z._default(z.array(pathSchema).check(z.maxLength(MAX_PATHS)), []),
});
const dollars = z.number().check(z.nonnegative());
/** For a million tokens. */
const price = z.strictObject({
  input: dollars,
  output: dollars,
  cache_read: z.optional(dollars),
  cache_write: z.optional(dollars),
});
const MAX_PRICES = 1000;
const prices = z
  .record(z.string().check(z.minLength(1), z.maxLength(200)), price)
  .check(z.refine((all) => Object.keys(all).length <= MAX_PRICES, `has more than ${MAX_PRICES} prices`));
const schema = z
  .strictObject({
    /** Variables of the caller that every task gets, if the caller has them. */
    env: z._default(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES)), []),
    /** The agent that gets a task in plain words. */
    agent: z.optional(agentNameSchema),
    /** The limits of a new session that names none. */
    budget: z.prefault(z.pipe(orNothing, budgetSchema), {}),
    quota: quotaSection,
    sandbox: z.prefault(z.pipe(orNothing, sandbox), {}),
    output_mb: outputLimit,
    /** How long a model request is held, with its agent alive, before its task is parked. */
    hold_minutes: z._default(z.number().check(z.nonnegative(), z.maximum(60)), 5),
    /**
     * How long a tool call waits for a person, with its agent waiting, before the agent is told to ask again.
     */
    ask_seconds: z._default(z.number().check(z.nonnegative(), z.maximum(600)), 50),
    /** How the user is told that a session waits for them, or is done, while no terminal shows it. */
    notify: z.optional(
      z.strictObject({
        command: z.array(z.string().check(z.maxLength(4096))).check(z.minLength(1), z.maxLength(100)),
      }),
    ),
    /** Prices of models that the shipped list does not know, or has wrong. */
    prices: z.prefault(z.pipe(orNothing, prices), {}),
    retention: z.prefault(z.pipe(orNothing, retention), {}),
    providers: providersSection,
    /** Where the key to a provider comes from, by the provider's name. */
    keys: keysSection,
    /** Where a variable comes from that tools outside the sandbox get, by its name. */
    variables: variablesSection,
    logins: loginsSection,
  })
  .check(({ value: { keys, providers }, issues }) => {
    for (const name of strayKeys(keys, providers))
      issues.push({ code: "custom", path: ["keys", name], message: "is not a provider", input: keys });
  });

export type Settings = z.infer<typeof schema>;

export const defaultSettings: Settings = schema.parse({});

export function parseSettings(text: string, name = settingsPath(IN_HOME)): Promise<Settings> {
  return parseDocument(schema, text, name);
}
