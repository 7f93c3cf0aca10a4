/**
 * Owns what a home is to all code that uses it, and the default home and user.
 */
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { parseUser, type SessionId } from "../contract/index.ts";
import type { JournalIo } from "../journal/index.ts";
import { type OnProgress, sessionsDir } from "../util/index.ts";

export interface Home {
  readonly dir: string;
  readonly id: string;
  readonly io: JournalIo;
  /** A new id that sorts by time: `sess_01k…`. */
  readonly newId: (prefix: string) => string;
  /** Gets the progress of long work. */
  readonly onProgress?: OnProgress | undefined;
  /**
   * Of a process that acts for others, as `serve` does: the keys in its environment replace none that a session was
   * given.
   */
  readonly isService?: boolean | undefined;
}

export function defaultHomeDir(): string {
  // An empty value counts as unset: an empty path would be the current directory.
  return process.env["HOLDFAST_HOME"] || join(homedir(), ".holdfast");
}

/** The OS user's name, as far as it is valid here. In a container there may be none for the uid. */
export function defaultUser(): string {
  let name: string;
  try {
    name = userInfo().username;
  } catch {
    name = `uid-${process.getuid?.() ?? 0}`;
  }
  return parseUser(
    name
      .replace(/[^A-Za-z0-9._@-]/g, "_")
      .replace(/^[.@-]/, "_")
      .slice(0, 64),
  );
}

export const sessionDirOf = (home: Pick<Home, "dir">, id: SessionId) => join(sessionsDir(home.dir), id);
