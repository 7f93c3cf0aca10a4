/**
 * Owns the environment of processes in a capsule: what a program needs to work, and nothing that could be a
 * secret. It also tells where the user's own HOME is, and the directory of Claude Code in it.
 */
import { join } from "node:path";
import { CAPSULE_MARK } from "./marks.ts";

const PASSED = [
  "PATH",
  "LANG",
  "LANGUAGE",
  // The complete list: servers accept any name that begins like this, and some clients send other things in
  // them.
  ...["LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES"],
  ...["LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME"],
  "TERM",
  "COLORTERM",
  "NO_COLOR",
  "FORCE_COLOR",
  "TZ",
  "SHELL",
  "USER",
  "LOGNAME",
  "CI",
];

export function baseEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const passed = Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
    value !== undefined && PASSED.includes(name) ? [[name, value]] : [],
  );
  const mark = own[CAPSULE_MARK];
  // The mark comes first: it is looked for at the beginning, and values can be long.
  return { ...(mark !== undefined && { [CAPSULE_MARK]: mark }), ...Object.fromEntries(passed), ...own };
}

/** The user's own HOME, which has their git settings: a session process has another HOME. */
export function userHome(): string {
  return process.env[USER_HOME] ?? process.env["HOME"] ?? "/nonexistent";
}

/** Where the user's Claude Code keeps its login and instructions. */
export function claudeDir(env: NodeJS.ProcessEnv = process.env): string {
  return env["CLAUDE_CONFIG_DIR"] || join(userHome(), ".claude");
}

/** Sets it for this process and those that it starts: the process may have been started for another person's task. */
export function useClaudeDir(dir: string): void {
  process.env["CLAUDE_CONFIG_DIR"] = dir;
}

export const USER_HOME = "HOLDFAST_USER_HOME";
