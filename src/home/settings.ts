/**
 * Owns the reading of a home's `settings.yaml`, the user's settings, as the file is at this moment.
 */
import { defaultSettings, parseSettings, type Settings } from "../config/index.ts";
import { readPlainFile, settingsPath } from "../util/index.ts";

const MAX_BYTES = 1024 * 1024;

export async function readSettings(homeDir: string): Promise<Settings> {
  const path = settingsPath(homeDir);
  const text = readPlainFile(path, { maxBytes: MAX_BYTES, followLinks: true });
  return text === undefined ? defaultSettings : parseSettings(text.toString("utf8"), path);
}
