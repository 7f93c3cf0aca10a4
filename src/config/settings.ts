/**
 * Owns `settings.yaml` in the home: what the user has decided, for all repos. No repo can change it.
 */
import * as z from "zod/mini";
import { parseDocument } from "./document.ts";
import { quotaSection } from "./quota.ts";

export const SETTINGS_FILE = "settings.yaml";

const schema = z.strictObject({ quota: quotaSection });

export type Settings = z.infer<typeof schema>;

export const defaultSettings: Settings = schema.parse({});

export function parseSettings(text: string, name = SETTINGS_FILE): Promise<Settings> {
  return parseDocument(schema, text, name);
}
