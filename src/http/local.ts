/**
 * Owns the check that a request was meant for this server. A page of another site that is open in a browser
 * must not be able to reach us, under whatever name.
 */
import type { IncomingMessage } from "node:http";
import { Refusal } from "./refusal.ts";

const LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/** A server on a socket has no port: null. */
export function assertLocal({ headers }: IncomingMessage, port: number | null): void {
  const { host, origin } = headers;
  const names = LOCAL_NAMES.map((name) => (port === null ? name : `${name}:${port}`));
  if (host === undefined || !names.includes(host.toLowerCase()))
    throw new Refusal(403, "foreign_host", "the Host header does not name this server");
  if (origin !== undefined && !names.some((name) => origin.toLowerCase() === `http://${name}`))
    throw new Refusal(403, "foreign_origin", "requests from other origins are refused");
}
