/**
 * Owns `settings.yaml` in the home: what the user has decided, for all repos. No repo can change it.
 */
import * as z from "zod/mini";
import { agentNameSchema, budgetSchema, MAX_VARIABLES, variableSchema } from "../contract/index.ts";
import { IN_HOME, settingsPath } from "../util/index.ts";
import { orNothing, parseDocument } from "./document.ts";
import { pathSchema } from "./path.ts";
import { keysSection, loginsSection, providersSection, strayKeys } from "./providers.ts";
import { outputLimit, quotaSection } from "./quota.ts";

const MAX_PATHS = 200;
const days = z.number().check(z.nonnegative());
const retention = z.strictObject({
  archive_closed_days: z._default(days, 30),
  /** Without it, nothing is ever deleted. */
  delete_archived_days: z.optional(days),
});
const sandbox = z.strictObject({
  /** What tasks see of the user's files beside what tools need: read-only. */
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
  .check(z.refine((all) => Object.keys(all).length <= MAX_PRICES, `more than ${MAX_PRICES} prices`));
const schema = z
  .strictObject({
    /** Variables of the caller's that every task gets, where the caller has them. */
    env: z._default(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES)), []),
    /** Which agent a task of plain words is given to. */
    agent: z.optional(agentNameSchema),
    /** The limits of a new session where none are named. */
    budget: z.prefault(z.pipe(orNothing, budgetSchema), {}),
    quota: quotaSection,
    sandbox: z.prefault(z.pipe(orNothing, sandbox), {}),
    output_mb: outputLimit,
    /** How long a model request is held, with its agent alive, before its task is parked. */
    hold_minutes: z._default(z.number().check(z.nonnegative(), z.maximum(60)), 5),
    /** What models cost, where the shipped list does not know it, or not rightly. */
    prices: z.prefault(z.pipe(orNothing, prices), {}),
    retention: z.prefault(z.pipe(orNothing, retention), {}),
    providers: providersSection,
    /** Where the key to a provider comes from, by the provider's name. */
    keys: keysSection,
    logins: loginsSection,
  })
  .check(({ value: { keys, providers }, issues }) => {
    for (const name of strayKeys(keys, providers))
      issues.push({ code: "custom", path: ["keys", name], message: "is no provider", input: keys });
  });

export type Settings = z.infer<typeof schema>;

export const defaultSettings: Settings = schema.parse({});

export function parseSettings(text: string, name = settingsPath(IN_HOME)): Promise<Settings> {
  return parseDocument(schema, text, name);
}
