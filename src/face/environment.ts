/**
 * Owns which variables a task gets in its environment, as the library and the API ask for it: those that the user's
 * settings name, where this process has them; those that its agent's definition names; and those that it is given. A later
 * source wins.
 */
import { HoldfastError, type Values } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";

/** `asked`: variables that the agent definition names, so the task can't do without them. */
export async function environmentFor(
  { dir }: Pick<Home, "dir">,
  asked: readonly string[] = [],
  given: Values = {},
): Promise<Values> {
  const { env } = await readSettings(dir);
  const names = new Set([...env.filter((name) => process.env[name] !== undefined), ...asked]);
  const own = [...names].filter((name) => !Object.hasOwn(given, name));
  return { ...Object.fromEntries(own.map((name) => [name, callersValue(name)])), ...given };
}

function callersValue(name: string): string {
  const value = process.env[name];
  if (value === undefined)
    throw new HoldfastError("env_missing", `${name} is not set in this environment`, { name });
  return value;
}
