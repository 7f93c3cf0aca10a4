/**
 * Owns which variables a task gets in its environment, as the command line asks for them: by name, with a
 * value, from a file, or from the user's settings. A later source wins: settings, file, `--env`.
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
      "pass this variable of yours to the task, or pass NAME=VALUE; the value is kept out of all records",
      collect,
    )
    .option(
      "--env-file <file>",
      "pass the variables of a file, which has NAME=VALUE or NAME on each line",
      collect,
    );
}

/** `asked`: names that the task must have in addition to those that are given. */
export async function environmentOf(
  { env = [], envFile = [] }: EnvironmentOptions,
  homeDir: string,
  asked: readonly string[] = [],
): Promise<Values> {
  const given = env.map(entryIn);
  // A value on the command line is visible in the list of processes, so it is overwritten as soon as it was
  // read here.
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

/**
 * An agent that Holdfast drives needs no key of its own, and the agent can leak what is in its environment.
 */
function warnOfKeys(entries: readonly Entry[], keys: ReadonlySet<string>): void {
  for (const name of new Set(entries.map((one) => one.name)))
    if (keys.has(name))
      note(
        `holdfast: warning: the task can read ${name}. An agent that holdfast drives does not need it: the broker adds the key to its requests`,
      );
}

/**
 * From the names of the variables that a task had: those that must be given again. A variable that the
 * settings name is given if it is set.
 */
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
  if (value === undefined)
    throw new HoldfastError("env_missing", `${name} is not set in this environment`, { name });
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
