/**
 * Owns how a request to the broker names the directory of its login of Claude Code: sessions may have been
 * started for different accounts.
 */
import type { IncomingMessage } from "node:http";
import { isAbsolute } from "node:path";
import { claudeDir } from "../process/index.ts";
import { LOGIN_DIR } from "./wire.ts";

/** Name and value. */
export function loginHeaders(env: NodeJS.ProcessEnv): string[] {
  return [LOGIN_DIR, encodeURIComponent(claudeDir(env))];
}

/** Undefined when the request names none. */
export function loginDirOf({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const named = headers[LOGIN_DIR];
  if (typeof named !== "string") return undefined;
  const dir = decodeURIComponent(named);
  return isAbsolute(dir) ? dir : undefined;
}
