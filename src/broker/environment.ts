/**
 * Owns the broker's environment: the user's own HOME, and the variables by which programs that store keys
 * find them. These are paths and addresses; none of them contains a key.
 */
import { join } from "node:path";
import type { Home } from "../home/index.ts";
import { baseEnvironment, USER_HOME, userHome } from "../process/index.ts";
import { cacheDir, present } from "../util/index.ts";

/**
 * Variables of password stores, key rings and their agents, and the places of Claude Code and of
 * certificates.
 */
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

/**
 * From the caller's environment: a session process passes them on, because it may have to start the broker
 * again.
 */
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

/** Expands a path as the user wrote it. */
export function expandPath(path: string): string {
  return path.startsWith("~/") ? join(userHome(), path.slice(2)) : path;
}
