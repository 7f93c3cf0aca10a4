/**
 * Owns how a script is asked for: by a file of the person's, or by an agent definition that names a file of
 * the repo. It is read and validated before anything is started.
 */
import type { Command } from "commander";
import { assertScript } from "../agent/index.ts";
import { type AgentDefinition, HoldfastError, MAX_SCRIPT, type ScriptSpec } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { readRepoText, type WhichFile } from "../task/index.ts";
import { printable, readPlainFile } from "../util/index.ts";

export interface ScriptOptions {
  readonly script?: string;
  readonly var?: readonly string[];
}

const collect = (one: string, before: readonly string[] = []) => [...before, one];

export function withScript(command: Command): Command {
  return command
    .option(
      "--script <file>",
      "run the steps of this file, without an agent; docs/script.md describes its form",
    )
    .option(
      "--var <name=value>",
      "a variable of the script; its value is in the session's record, so do not put a secret in it",
      collect,
    );
}

interface Given extends Pick<ScriptOptions, "var"> {
  /** The script's `${task}`. */
  readonly prompt: string;
}

export async function fileScript(
  path: string,
  prompt: string,
  options: Pick<ScriptOptions, "var">,
): Promise<ScriptSpec> {
  const bytes = readPlainFile(path, { maxBytes: MAX_SCRIPT, followLinks: true });
  return specOf(bytes?.toString("utf8"), printable(path), { prompt, ...options });
}

/** As it is in the commit that the task begins with. */
export async function definedScript(
  home: Home,
  { name, script = "" }: AgentDefinition,
  which: WhichFile | undefined,
  given: { readonly prompt: string; readonly var: readonly string[] | undefined },
): Promise<ScriptSpec> {
  const text = which && (await readRepoText(home, which, script));
  return specOf(text, `${printable(script)} of agent ${name}`, {
    prompt: given.prompt,
    ...(given.var && { var: given.var }),
  });
}

async function specOf(script: string | undefined, shown: string, given: Given): Promise<ScriptSpec> {
  if (script === undefined || script.length > MAX_SCRIPT)
    throw new HoldfastError(
      "script_invalid",
      `${shown}: the file does not exist, or has more than ${MAX_SCRIPT} characters`,
    );
  const task = given.prompt.trim() === "" ? {} : { task: given.prompt };
  const vars = { ...Object.fromEntries((given.var ?? []).map(variableIn)), ...task };
  await assertScript(script, vars);
  return { adapter: "script", script, vars, input: "messages" };
}

function variableIn(text: string): [string, string] {
  const [, name, value] = text.match(/^([a-z_][a-z0-9_]{0,63})=(.*)$/is) ?? [];
  if (name === undefined || value === undefined)
    throw new HoldfastError("usage", `--var ${printable(text)}: the form is NAME=VALUE`);
  return [name, value];
}
