/**
 * Owns asking the broker whether there is a login, and when it expires, in order to show that. The broker
 * answers, so that no other process reads the login.
 */
import { existsSync } from "node:fs";
import { json } from "node:stream/consumers";
import type { Home } from "../home/index.ts";
import { claudeDir } from "../process/index.ts";
import { isPlainObject } from "../util/index.ts";
import { ask, Unheard } from "./asking.ts";
import { loginHeaders } from "./login-dir.ts";
import { type LoginTime, loginPath } from "./login-file.ts";
import { failed, reachBroker } from "./start.ts";
import { brokerPlace, paths } from "./wire.ts";

/** The broker that was found may be about to end. A limited number of further attempts looks for another. */
const ATTEMPTS = 4;

/** Undefined when there is no login; no broker is started then. Fails with `broker_failed`. */
export async function askForLogin(home: Home, env: NodeJS.ProcessEnv): Promise<LoginTime | undefined> {
  if (!existsSync(loginPath(claudeDir(env)))) return undefined;
  const question = {
    socket: brokerPlace(home.dir).socket,
    method: "GET",
    path: paths.login,
    headers: loginHeaders(env),
  };
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
