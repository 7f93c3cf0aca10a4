/**
 * Owns what the broker's environment has: the user's own HOME, and what leads the programs that keep keys to them.
 * Paths and addresses only: a key is in none of these.
 */
import { join } from "node:path";
import type { Home } from "../home/index.ts";
import { baseEnvironment, USER_HOME, userHome } from "../process/index.ts";
import { cacheDir, present } from "../util/index.ts";

/** What password stores, key rings and their agents go by, and where Claude Code and certificates are. */
const KEEPERS = [
  "DBUS_SESSION_BUS_ADDRESS",
  "XDG_RUNTIME_DIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "GNUPGHOME",
  "GPG_AGENT_INFO",
  "PASSWORD_STORE_DIR",
  "SSH_AUTH_SOCK",
  "CLAUDE_CONFIG_DIR",
  "NODE_EXTRA_CA_CERTS",
];

/** Of the caller's: a session process hands them on, because it may have to start the broker again. */
export function keeperVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    KEEPERS.flatMap((name): [string, string][] => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

export function brokerEnvironment(home: Pick<Home, "dir">): Record<string, string> {
  return baseEnvironment({
    ...keeperVariables(process.env),
    HOME: userHome(),
    [USER_HOME]: userHome(),
    NODE_COMPILE_CACHE: cacheDir(home.dir),
    ...present({ SUDO_UID: process.env["SUDO_UID"] }),
    MALLOC_ARENA_MAX: "1",
  });
}

/** A path in the user's own words. */
export function expandPath(path: string): string {
  return path.startsWith("~/") ? join(userHome(), path.slice(2)) : path;
}

/** Where Claude Code keeps its login. */
export function claudeDir(env: NodeJS.ProcessEnv = process.env): string {
  return env["CLAUDE_CONFIG_DIR"] || join(userHome(), ".claude");
}
