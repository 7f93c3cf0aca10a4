/**
 * Owns the words between the broker and those who ask it: HTTP on a socket that only the user can reach. A path begins
 * with what is asked, and the session that it is asked for; a failure of the broker's own says so in a header that no
 * provider's answer has.
 */
import { join } from "node:path";
import { makeHomeRuntimeDir } from "../mail/index.ts";

export const FAILURE = "holdfast-failure";

export const paths = {
  /** GET: whether a broker is there. */
  there: "/there",
  /** GET: whether there is a login, and when it runs out. */
  login: "/login",
  /** POST: the keys that a session brings. */
  keys: "/keys/",
  /** GET: an answer that does not end: while it is open, the session counts. */
  stay: "/stay/",
  /** GET, with the session's token: which kind of credential there is for a provider. */
  credential: "/credential/",
  /** With the session's token: the rest of the path is the provider's. */
  forward: "/forward/",
} as const;

export const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,39}$/;

export interface BrokerPlace {
  readonly socket: string;
  readonly lock: string;
  readonly log: string;
}

/** Beside the sockets of sessions: nothing of the broker lies in the home. */
export function brokerPlace(homeDir: string): BrokerPlace {
  const dir = makeHomeRuntimeDir(homeDir);
  return { socket: join(dir, "broker"), lock: join(dir, "broker.lock"), log: join(dir, "broker.log") };
}
