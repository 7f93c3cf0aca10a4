/**
 * Owns who a request says it is from. A cookie would be sent by any page; a header is not.
 *
 * V1 A token is compared in constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
}

/** V1: both are hashed first, so that nothing is learnt from lengths either. */
export function isSameToken(expected: string | undefined, given: string | undefined): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const isSame = timingSafeEqual(digest(expected ?? ""), digest(given ?? ""));
  return isSame && expected !== undefined && expected !== "";
}
