/**
 * Owns the question whether there is a login, and when it runs out, for those who show that: the broker answers it, so
 * that no other process reads the login.
 */
import { existsSync } from "node:fs";
import { json } from "node:stream/consumers";
import type { Home } from "../home/index.ts";
import { isPlainObject } from "../util/index.ts";
import { ask, Unheard } from "./asking.ts";
import { claudeDir } from "./environment.ts";
import { type LoginTime, loginPath } from "./login-file.ts";
import { failed, reachBroker } from "./start.ts";
import { brokerPlace, paths } from "./wire.ts";

/** A broker may leave just when it was found: it is looked for again, but not for ever. */
const ATTEMPTS = 4;

/** Undefined when there is none: then no broker is started to say so. Fails with `broker_failed`. */
export async function askForLogin(home: Home, env: NodeJS.ProcessEnv): Promise<LoginTime | undefined> {
  if (!existsSync(loginPath(claudeDir(env)))) return undefined;
  const question = { socket: brokerPlace(home.dir).socket, method: "GET", path: paths.login, headers: [] };
  for (let attempt = 1; ; attempt += 1) {
    await reachBroker(home);
    try {
      const { login } = (await json(await ask(question))) as { readonly login?: unknown };
      if (!isPlainObject(login)) return undefined;
      const { expiresAtMs } = login;
      return { expiresAtMs: typeof expiresAtMs === "number" ? expiresAtMs : null };
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof Unheard)) throw failed(home, "it does not answer");
    }
  }
}
