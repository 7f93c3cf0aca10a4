/**
 * Owns what is said of keys: where the one for each provider would come from, and whether it could be used. A value is in
 * none of it.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { isHoldfastError } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { findOutsideProgram } from "../process/index.ts";
import { systemClock } from "../util/index.ts";
import type { KeySource } from "./credential.ts";
import { claudeDir, expandPath } from "./environment.ts";
import { readKeyFile } from "./key-file.ts";
import { fromVariables, helpFor } from "./keys.ts";
import { isExpired, readLogin } from "./login-file.ts";
import { needsNoKey, type Provider, providersOf } from "./providers.ts";

export interface KeyNote {
  readonly provider: string;
  readonly source: KeySource | "none";
  readonly isUsable: boolean;
  /** For people. */
  readonly detail: string;
}

/** `env`: of the person whose keys these are. */
export async function keyNotes(home: Pick<Home, "dir">, env: NodeJS.ProcessEnv): Promise<KeyNote[]> {
  const settings = await readSettings(home.dir);
  return providersOf(settings).map((provider) => ({
    provider: provider.name,
    ...noteOf(provider, home, env, settings.logins.claude.refresh),
  }));
}

function noteOf(
  provider: Provider,
  { dir }: Pick<Home, "dir">,
  env: NodeJS.ProcessEnv,
  isRenewed: boolean,
): Omit<KeyNote, "provider"> {
  const { name, key, variables, hasLogin } = provider;
  if (key?.command) return ofCommand(key.command[0] ?? "");
  if (key?.file !== undefined)
    return ofFile(key.file, () => readKeyFile(key.file ?? "", { provider: name, homeDir: dir }));
  const brought = fromVariables(provider, env as Record<string, string>);
  if (brought) {
    const variable = variables.find((one) => env[one]?.trim() === brought.value);
    return { source: "environment", isUsable: true, detail: `from ${variable} of your environment` };
  }
  const login = hasLogin ? readLogin(claudeDir(env)) : undefined;
  if (login) {
    const isUsable = isRenewed || !isExpired(login, systemClock.nowMs());
    const state = isUsable ? "" : ", which has run out: run claude once, or claude setup-token";
    return { source: "login", isUsable, detail: `from the login of claude${state}` };
  }
  return needsNoKey(provider)
    ? { source: "none", isUsable: true, detail: "needs no key" }
    : { source: "none", isUsable: false, detail: `no key: ${helpFor(provider)}` };
}

function ofCommand(program: string): Omit<KeyNote, "provider"> {
  const path = expandPath(program);
  const isUsable = path.includes("/") ? existsSync(path) : findOutsideProgram(path) !== undefined;
  const detail = `from a command, ${basename(path)}${isUsable ? "" : ", which is not there"}`;
  return { source: "command", isUsable, detail };
}

function ofFile(path: string, read: () => string): Omit<KeyNote, "provider"> {
  try {
    read();
    return { source: "file", isUsable: true, detail: `from a file, ${path}` };
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { source: "file", isUsable: false, detail: error.message };
  }
}
