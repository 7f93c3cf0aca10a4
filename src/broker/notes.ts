/**
 * Owns what people are told about keys: where the key for each provider would come from, and whether it can
 * be used. It never includes a value, and only the broker reads keys from files. The process that shows this
 * has no secret in its memory except those in its own environment.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { isHoldfastError } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { claudeDir, findOutsideProgram } from "../process/index.ts";
import type { KeySource } from "./credential.ts";
import { expandPath } from "./environment.ts";
import { assertKeyFile, type KeyPlace, keyIn } from "./key-file.ts";
import { helpFor } from "./keys.ts";
import { isExpired } from "./login-file.ts";
import { askForLogin } from "./login-question.ts";
import { needsNoKey, type Provider, providersOf } from "./providers.ts";

export interface KeyNote {
  readonly provider: string;
  readonly api: Provider["api"];
  readonly source: KeySource | "none";
  readonly isUsable: boolean;
  /** For people. */
  readonly detail: string;
}

type Note = Omit<KeyNote, "provider" | "api">;

/**
 * `env`: the environment of the person whose keys these are. Starts a broker if there is a login to ask
 * about.
 */
export async function keyNotes(home: Home, env: NodeJS.ProcessEnv): Promise<KeyNote[]> {
  const settings = await readSettings(home.dir);
  const notes = providersOf(settings).map(async (provider) => ({
    provider: provider.name,
    api: provider.api,
    ...(noteOf(provider, home, env) ??
      (provider.hasLogin ? await ofLogin(home, env, settings.logins.claude.refresh) : undefined) ??
      ofNone(provider)),
  }));
  return Promise.all(notes);
}

/** Undefined when neither the settings nor the environment have a key. */
function noteOf({ name, key, variables }: Provider, { dir }: Home, env: NodeJS.ProcessEnv): Note | undefined {
  if (key?.command) return ofCommand(key.command[0] ?? "");
  if (key?.file !== undefined)
    return ofFile(key.file, { setting: `keys.${name}`, provider: name, homeDir: dir });
  const variable = variables.find((one) => keyIn(env[one] ?? "") !== undefined);
  return variable === undefined
    ? undefined
    : { source: "environment", isUsable: true, detail: `from ${variable} of your environment` };
}

async function ofLogin(home: Home, env: NodeJS.ProcessEnv, isRenewed: boolean): Promise<Note | undefined> {
  try {
    const login = await askForLogin(home, env);
    if (!login) return undefined;
    const isUsable = isRenewed || !isExpired(login, home.io.clock.nowMs());
    const state = isUsable ? "" : ", which has expired: run claude once, or claude setup-token";
    const where = env["CLAUDE_CONFIG_DIR"] ? ` in ${claudeDir(env)}` : "";
    return { source: "login", isUsable, detail: `from the login of claude${where}${state}` };
  } catch (error) {
    if (!isHoldfastError(error, "broker_failed")) throw error;
    return { source: "login", isUsable: false, detail: `the login of claude is not known: ${error.message}` };
  }
}

function ofNone(provider: Provider): Note {
  return needsNoKey(provider)
    ? { source: "none", isUsable: true, detail: "needs no key" }
    : { source: "none", isUsable: false, detail: `no key: ${helpFor(provider)}` };
}

function ofCommand(program: string): Note {
  const path = expandPath(program);
  const isUsable = path.includes("/") ? existsSync(path) : findOutsideProgram(path) !== undefined;
  const detail = `from a command, ${basename(path)}${isUsable ? "" : ", which does not exist"}`;
  return { source: "command", isUsable, detail };
}

function ofFile(path: string, place: KeyPlace): Note {
  try {
    assertKeyFile(path, place);
    return { source: "file", isUsable: true, detail: `from a file, ${path}` };
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { source: "file", isUsable: false, detail: error.message };
  }
}
