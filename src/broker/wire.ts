/**
 * Owns the protocol between the broker and its clients: HTTP on a socket that only the user can reach. A path
 * begins with the kind of request, followed by the session that it is for. If the broker itself fails, a
 * header marks the answer, which no answer of a provider has.
 */
import { join } from "node:path";
import { makeHomeRuntimeDir } from "../mail/index.ts";

export const FAILURE = "holdfast-failure";

/** The directory of the login that a request may use, percent-encoded: sessions can have different ones. */
export const LOGIN_DIR = "holdfast-login-dir";

export const paths = {
  /** GET: whether a broker is running. */
  there: "/there",
  /** GET: whether there is a login, and when it expires. */
  login: "/login",
  /** POST: the keys that a session passes on; with SPARE behind the session, they replace none that it has. */
  keys: "/keys/",
  /** GET: an answer that does not end. While it is open, the broker stays for the session. */
  stay: "/stay/",
  /** GET, with the session's token: which kind of credential there is for a provider. */
  credential: "/credential/",
  /**
   * POST, with the session's token: which of these variables were passed on for it, with their values. For
   * its worker.
   */
  variables: "/variables/",
  /** With the session's token: the rest of the path is the provider's. */
  forward: "/forward/",
} as const;

export const SPARE = "/spare";

export const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,39}$/;

export interface BrokerPlace {
  readonly socket: string;
  readonly lock: string;
  readonly log: string;
}

/** Beside the sockets of sessions. The broker has no file in the home. */
export function brokerPlace(homeDir: string): BrokerPlace {
  const dir = makeHomeRuntimeDir(homeDir);
  return { socket: join(dir, "broker"), lock: join(dir, "broker.lock"), log: join(dir, "broker.log") };
}
