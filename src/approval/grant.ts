/**
 * Owns judging a grant: whether the operator signed it, for exactly this request, and whether it is still
 * valid.
 *
 * grant-1 Only grants that the operator's key signed count, no matter who delivers them and where they were
 *    stored.
 * grant-2 A grant is for one request: the record that asked, in its session and its home, with that record's
 *    fingerprint.
 * grant-3 A grant is valid for at most ten minutes, even if its signer wrote more. The caller passes the
 *    time, the later one of the clock and the last record, so that setting the clock back revives no grant.
 */
import { type KeyObject, verify } from "node:crypto";
import { type Grant, type GrantTerms, grantSchema, HoldfastError } from "../contract/index.ts";
import { canonical } from "./canonical.ts";

export const GRANT_LIFE_MS = 10 * 60 * 1000;
const GRANT_DOMAIN = "holdfast-grant-v1\n";
const SIGNATURE_BYTES = 64;

/** What a grant has to match. */
export interface ExpectedGrant {
  readonly fingerprint: string;
  readonly approval: string;
  /** The `approval_requested` record in the journal as it is now. */
  readonly request: { readonly seq: number; readonly hash: string };
  readonly home: string;
  readonly session: string;
}

/** The bytes that are signed. */
export function signedBytes(terms: GrantTerms): Buffer {
  const { version, approval, request, home, session, fingerprint, by, grantedAt, expiresAt } = terms;
  const { seq, hash } = request;
  const form = {
    version,
    approval,
    request: { seq, hash },
    home,
    session,
    fingerprint,
    by,
    grantedAt,
    expiresAt,
  };
  return Buffer.from(GRANT_DOMAIN + canonical(form));
}

/** Throws `grant_invalid` with the reason. */
export function verifyGrant(
  publicKey: KeyObject,
  given: unknown,
  expected: ExpectedGrant,
  nowMs: number,
): Grant {
  const grant = grantSchema.safeParse(given).data;
  if (!grant) throw invalid("it does not have the form of a grant");
  if (!isSignedBy(publicKey, grant)) throw invalid("the operator's key did not sign it");
  assertSame("approval", grant.approval, expected.approval);
  assertSame("home", grant.home, expected.home);
  assertSame("session", grant.session, expected.session);
  assertSame("record", grant.request.seq, expected.request.seq);
  assertSame("record", grant.request.hash, expected.request.hash);
  assertSame("fingerprint", grant.fingerprint, expected.fingerprint);
  assertInTime(grant, nowMs);
  return grant;
}

/** The later one of the clock and the last record. */
export function timeAfter(clockMs: number, lastRecordAt: string | undefined): number {
  const recordedMs = lastRecordAt === undefined ? Number.NaN : Date.parse(lastRecordAt);
  return Number.isNaN(recordedMs) ? clockMs : Math.max(clockMs, recordedMs);
}

function isSignedBy(publicKey: KeyObject, { signature, ...terms }: Grant): boolean {
  const bytes = Buffer.from(signature, "base64");
  // Base64 can encode the same bytes in several ways; a grant has only one.
  if (bytes.length !== SIGNATURE_BYTES || bytes.toString("base64") !== signature) return false;
  if (publicKey.asymmetricKeyType !== "ed25519") return false;
  try {
    return verify(null, signedBytes(terms), publicKey, bytes);
  } catch {
    // A value without a canonical form was never signed.
    return false;
  }
}

function assertSame(what: string, given: string | number, expected: string | number): void {
  if (given !== expected) throw invalid(`it is for another ${what}`);
}

function assertInTime({ grantedAt, expiresAt }: Grant, nowMs: number): void {
  const fromMs = Date.parse(grantedAt);
  const untilMs = Date.parse(expiresAt);
  // An impossible date is NaN, for which every comparison is false.
  if (!(untilMs - fromMs > 0 && untilMs - fromMs <= GRANT_LIFE_MS))
    throw invalid(`its validity is not between 0 and ${GRANT_LIFE_MS / 60_000} minutes`);
  if (!(nowMs >= fromMs)) throw invalid("by the clock, it was granted in the future");
  if (!(nowMs < untilMs)) throw invalid(`it expired at ${expiresAt}`);
}

const invalid = (reason: string) => new HoldfastError("grant_invalid", `the grant is not valid: ${reason}`);
