/**
 * Owns where the variables of a tool come from, for the worker that runs it: from the command or file that
 * the user's settings name, or else, through the broker, from the environment of the person who started the
 * task. If what the settings name fails, nothing replaces it.
 */
import { text } from "node:stream/consumers";
import type { KeySettings } from "../config/index.ts";
import { HoldfastError, isHoldfastError, type SessionId, type Values } from "../contract/index.ts";
import { type Home, readSettings, readToken, sessionDirOf } from "../home/index.ts";
import { parseObject } from "../util/index.ts";
import { ask, failureIn, isCutOff, Unheard } from "./asking.ts";
import { printedBy } from "./key-commands.ts";
import { readKeyFile } from "./key-file.ts";
import { brokerPlace, paths } from "./wire.ts";

/** The variables that have a value. Fails with `credential_missing` when a command or a file has none. */
export async function readVariables(
  home: Pick<Home, "dir" | "io">,
  session: SessionId,
  names: readonly string[],
): Promise<Values> {
  const { variables } = await readSettings(home.dir);
  const named = names.filter((name) => Object.hasOwn(variables, name));
  const others = names.filter((name) => !named.includes(name));
  const values: Record<string, string> =
    others.length > 0 ? { ...(await askBroker(home, session, others)) } : {};
  for (const name of named) {
    const key = variables[name];
    if (key) values[name] = await readNamed(home, name, key);
  }
  return values;
}

async function readNamed({ dir }: Pick<Home, "dir">, name: string, key: KeySettings): Promise<string> {
  const setting = `variables.${name}`;
  try {
    if (key.command) return await printedBy(setting, key.command);
    return readKeyFile(key.file ?? "", { setting, homeDir: dir });
  } catch (error) {
    if (!isHoldfastError(error, "key_missing")) throw error;
    throw new HoldfastError("credential_missing", error.message, { name });
  }
}

/** Without a running broker, no value that was passed on is known any more. */
async function askBroker(
  home: Pick<Home, "dir" | "io">,
  session: SessionId,
  names: readonly string[],
): Promise<Values> {
  const token = await readToken(home.io.disk, sessionDirOf(home, session));
  if (token === undefined) return {};
  try {
    const answer = await ask({
      socket: brokerPlace(home.dir).socket,
      method: "POST",
      path: paths.variables + session,
      headers: ["authorization", `Bearer ${token}`],
      body: Buffer.from(JSON.stringify({ names })),
    });
    const failure = await failureIn(answer);
    if (failure) throw failure;
    const given = parseObject(await text(answer)) ?? {};
    return Object.fromEntries(
      names.flatMap((name) => (typeof given[name] === "string" ? [[name, given[name]]] : [])),
    );
  } catch (error) {
    if (error instanceof Unheard || isCutOff(error)) return {};
    throw error;
  }
}
