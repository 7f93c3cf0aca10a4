/**
 * Owns what a person passes on when they start or resume a session: the keys in their environment, and the
 * variables of its tools, except for those whose place the settings name. The broker gets them, for that
 * session alone.
 */
import type { SessionId, Values } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { type Provider, providersOf } from "./providers.ts";
import { reachBroker } from "./start.ts";

export interface ToBring {
  /** Whether its agent uses models. */
  readonly keys: boolean;
  /** The names of its tools' variables. */
  readonly variables: readonly string[];
}

/**
 * Starts a broker if there is something to pass on and none is running. What the session was given before is replaced,
 * unless the caller acts for others.
 */
export async function bringKeys(
  home: Home,
  session: SessionId,
  env: NodeJS.ProcessEnv,
  { keys, variables }: ToBring = { keys: true, variables: [] },
): Promise<void> {
  const settings = await readSettings(home.dir);
  const own = variables.filter((name) => !Object.hasOwn(settings.variables, name) && env[name]);
  const values = {
    ...(keys && keysFor(providersOf(settings), env)),
    ...Object.fromEntries(own.map((name): [string, string] => [name, env[name] ?? ""])),
  };
  if (Object.keys(values).length > 0) {
    const isSpare = home.isService === true;
    await reachBroker(home, { brought: { session, values, isSpare } });
  }
}

/**
 * If a provider has a key in one of its variables, the others are sent empty, so that earlier values no
 * longer count.
 */
function keysFor(providers: readonly Provider[], env: NodeJS.ProcessEnv): Values {
  const brought = providers.filter(
    ({ key, variables }) => !key && variables.some((name) => env[name]?.trim()),
  );
  return Object.fromEntries(
    brought.flatMap(({ variables }) => variables.map((name): [string, string] => [name, env[name] ?? ""])),
  );
}
