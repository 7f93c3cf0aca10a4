/**
 * Owns `settings.yaml` in the home: what the user has decided, for all repos. No repo can change it.
 */
import * as z from "zod/mini";
import { orNothing, parseDocument } from "./document.ts";
import { outputLimit, quotaSection } from "./quota.ts";

export const SETTINGS_FILE = "settings.yaml";

const days = z.number().check(z.nonnegative());
const retention = z.strictObject({
  archive_closed_days: z._default(days, 30),
  /** Without it, nothing is ever deleted. */
  delete_archived_days: z.optional(days),
});
const schema = z.strictObject({
  quota: quotaSection,
  output_mb: outputLimit,
  retention: z.prefault(z.pipe(orNothing, retention), {}),
});

export type Settings = z.infer<typeof schema>;

export const defaultSettings: Settings = schema.parse({});

export function parseSettings(text: string, name = SETTINGS_FILE): Promise<Settings> {
  return parseDocument(schema, text, name);
}
