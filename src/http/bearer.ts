/**
 * Owns which token a request carries. It is read from a header and not from a cookie, because any page can
 * make a browser send a cookie.
 *
 * bearer-1 A token is compared in constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
}

/** bearer-1: both are hashed first, so that their lengths tell nothing, either. */
export function isSameToken(expected: string | undefined, given: string | undefined): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const isSame = timingSafeEqual(digest(expected ?? ""), digest(given ?? ""));
  return isSame && expected !== undefined && expected !== "";
}
