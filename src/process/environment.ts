/**
 * Owns the environment that processes in a capsule get: what a program needs to find its way, and nothing that
 * could be a secret.
 */
const PASSED = [
  "PATH",
  "LANG",
  "LANGUAGE",
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
    value !== undefined && (PASSED.includes(name) || name.startsWith("LC_")) ? [[name, value]] : [],
  );
  return { ...Object.fromEntries(passed), ...own };
}

/** The user's own HOME, where their git settings are: a session process has another. */
export function userHome(): string {
  return process.env[USER_HOME] ?? process.env["HOME"] ?? "/nonexistent";
}

export const USER_HOME = "HOLDFAST_USER_HOME";
