/**
 * Owns the cheap question whether a journal has changed: a text that is another one after every append.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { journalDir } from "../util/index.ts";

export function journalStamp(sessionDir: string): string {
  try {
    const dir = journalDir(sessionDir);
    const last = readdirSync(dir).sort().at(-1) ?? "";
    return `${last} ${statSync(join(dir, last)).size}`;
  } catch {
    return "";
  }
}
