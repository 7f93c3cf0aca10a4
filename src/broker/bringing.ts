/**
 * Owns what a person who starts a session, or lets it go on, brings along: the keys of their own environment, as far as
 * their settings don't say where else a key is. They go to the broker, for that session alone.
 */
import type { SessionId, Values } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { type Provider, providersOf } from "./providers.ts";
import { reachBroker } from "./start.ts";

/** A broker is started where there is something to bring, and none is there. */
export async function bringKeys(home: Home, session: SessionId, env: NodeJS.ProcessEnv): Promise<void> {
  const values = keysFor(providersOf(await readSettings(home.dir)), env);
  if (Object.keys(values).length > 0) await reachBroker(home, { brought: { session, values } });
}

/** Of a provider with a key in one variable, the others go along empty: what was brought before counts no more. */
function keysFor(providers: readonly Provider[], env: NodeJS.ProcessEnv): Values {
  const brought = providers.filter(
    ({ key, variables }) => !key && variables.some((name) => env[name]?.trim()),
  );
  return Object.fromEntries(
    brought.flatMap(({ variables }) => variables.map((name): [string, string] => [name, env[name] ?? ""])),
  );
}
