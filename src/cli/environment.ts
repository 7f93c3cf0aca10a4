/**
 * Owns what a task gets in its environment, as it is asked for at the command line: by name, with a value, from a file, or
 * because the user's settings say so. Later wins: settings, file, `--env`.
 */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { keyVariables } from "../broker/index.ts";
import { HoldfastError, type Values, whyNoVariable } from "../contract/index.ts";
import { readSettings } from "../home/index.ts";
import { errorCode, printable } from "../util/index.ts";
import { type Entry, parseEnvFile } from "./env-file.ts";
import { note } from "./screen.ts";

export interface EnvironmentOptions {
  readonly env?: readonly string[];
  readonly envFile?: readonly string[];
}

const collect = (one: string, before: readonly string[] = []) => [...before, one];

export function withEnvironment(command: Command): Command {
  return command
    .option(
      "--env <name>",
      "a variable of yours for its environment, or NAME=VALUE; its value is kept out of all records",
      collect,
    )
    .option("--env-file <file>", "the same from a file: NAME=VALUE or NAME, a line each", collect);
}

/** `asked`: names that it has to have beside those that are given. */
export async function environmentOf(
  { env = [], envFile = [] }: EnvironmentOptions,
  homeDir: string,
  asked: readonly string[] = [],
): Promise<Values> {
  const given = env.map(entryIn);
  // What other users can read in the list of processes goes as soon as it was read here.
  if (given.some(({ value }) => value !== undefined)) process.title = "holdfast";
  const settings = await readSettings(homeDir);
  const { env: ofSettings } = settings;
  const own = [...ofSettings.filter((name) => process.env[name] !== undefined), ...asked];
  const named = [...envFile.flatMap((path) => parseEnvFile(readText(path), printable(path))), ...given];
  const entries: Entry[] = [...own.map((name) => ({ name, value: undefined })), ...named];
  warnOfKeys(named, keyVariables(settings));
  const last = new Map(entries.map(({ name, value }) => [name, value]));
  return Object.fromEntries([...last].map(([name, value]) => [name, value ?? valueOfCaller(name)]));
}

/** An agent that we drive needs no key of its own: what is in a task's environment, the agent can give away. */
function warnOfKeys(entries: readonly Entry[], keys: ReadonlySet<string>): void {
  for (const name of new Set(entries.map((one) => one.name)))
    if (keys.has(name))
      note(
        `holdfast: warning: ${name} is shown to the task; leave it out with an agent that holdfast drives: the broker holds the key then`,
      );
}

/** Of names that a task had: those that it has to have again. What the settings name is given where it is set. */
export async function stillAsked(names: readonly string[], homeDir: string): Promise<string[]> {
  const { env: ofSettings } = await readSettings(homeDir);
  return names.filter((name) => !ofSettings.includes(name) || process.env[name] !== undefined);
}

function entryIn(text: string): Entry {
  const at = text.indexOf("=");
  const name = at < 0 ? text : text.slice(0, at);
  const reason = whyNoVariable(name);
  if (reason !== undefined) throw new HoldfastError("usage", `--env: ${printable(name)} ${reason}`);
  return { name, value: at < 0 ? undefined : text.slice(at + 1) };
}

function valueOfCaller(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new HoldfastError("env_missing", `${name} is not set here`, { name });
  return value;
}

function readText(path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const reason =
      errorCode(error) === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8" : errorCode(error);
    throw new HoldfastError("usage", `--env-file: ${printable(path)} can't be read: ${reason}`);
  }
}
