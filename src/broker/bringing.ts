/**
 * Owns what a person who starts a session, or lets it go on, brings along: the keys of their own environment, as far as
 * their settings don't say where else a key is. They go to the broker, for that session alone.
 */
import type { SessionId, Values } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { type KeyNote, keyNotes } from "./notes.ts";
import { providersOf } from "./providers.ts";
import { reachBroker } from "./start.ts";

/** What was found for each provider. A broker is started where there is something to bring, and none is there. */
export async function bringKeys(home: Home, session: SessionId, env: NodeJS.ProcessEnv): Promise<KeyNote[]> {
  const notes = await keyNotes(home, env);
  const values = keysIn(env, await wantedVariables(home));
  if (Object.keys(values).length > 0) await reachBroker(home, { brought: { session, values } });
  return notes;
}

async function wantedVariables(home: Pick<Home, "dir">): Promise<string[]> {
  const providers = providersOf(await readSettings(home.dir));
  return providers.flatMap(({ key, variables }) => (key ? [] : variables));
}

function keysIn(env: NodeJS.ProcessEnv, names: readonly string[]): Values {
  return Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const value = env[name];
      return value === undefined || value.trim() === "" ? [] : [[name, value]];
    }),
  );
}
