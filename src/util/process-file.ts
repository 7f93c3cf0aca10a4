/**
 * Owns small files in which a process publishes that it runs and how to reach it. Such a file is a hint: its
 * reader checks whether the process is alive.
 */
import { rename, writeFile } from "node:fs/promises";
import { temporaryPath } from "./disk.ts";
import { identityOf, isAlive, type ProcessIdentity, parseIdentity, readTextOr } from "./process-identity.ts";
import { parseObject } from "./sealed-json.ts";

export async function writeProcessFile(path: string, facts: object = {}): Promise<void> {
  const temporary = temporaryPath(path);
  const text = `${JSON.stringify({ ...identityOf(process.pid), ...facts })}\n`;
  await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
}

/** Undefined when there is no file, or the process that wrote it has ended. */
export function readProcessFile(
  path: string,
): { readonly identity: ProcessIdentity; readonly facts: Readonly<Record<string, unknown>> } | undefined {
  const facts = parseObject(readTextOr(path, ""));
  const identity = parseIdentity(facts);
  return facts && identity && isAlive(identity) ? { identity, facts } : undefined;
}
