/**
 * Owns signing grants. It signs what a person at the command line or the server has decided, and asks
 * nothing: its callers have shown the action to that person before.
 */
import { sign } from "node:crypto";
import { GRANT_LIFE_MS, signedBytes, timeAfter } from "../approval/index.ts";
import type { Grant, GrantTerms } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { operatorKey } from "./key.ts";

/** What is granted, and by which person. */
export type Decided = Pick<GrantTerms, "approval" | "request" | "session" | "fingerprint" | "by">;

/** `lastRecordAt`: from the session's journal, which may be ahead of a clock that was set back. */
export async function signGrant(home: Home, decided: Decided, lastRecordAt: string): Promise<Grant> {
  const key = await operatorKey(home);
  const { approval, request, session, fingerprint, by } = decided;
  const nowMs = timeAfter(home.io.clock.nowMs(), lastRecordAt);
  const terms: GrantTerms = {
    version: 1,
    approval,
    request: { seq: request.seq, hash: request.hash },
    home: home.id,
    session,
    fingerprint,
    by,
    grantedAt: new Date(nowMs).toISOString(),
    expiresAt: new Date(nowMs + GRANT_LIFE_MS).toISOString(),
  };
  return { ...terms, signature: sign(null, signedBytes(terms), key).toString("base64") };
}
