/**
 * grant-1 to grant-3: a forged, altered, truncated or late grant is not valid, and neither is one for another request.
 */
import { createSecretKey, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ExpectedGrant, GRANT_LIFE_MS, timeAfter, verifyGrant } from "../../src/approval/grant.ts";
import { fingerprintOf } from "../../src/approval/index.ts";
import type { Grant, GrantTerms } from "../../src/contract/index.ts";
import { anAction, codeOf, GRANTED_AT, keyPair, signed, termsOf } from "../support/approvals.ts";

const terms = termsOf(anAction);
const operator = withOddSignature();
const stranger = keyPair();
const grant = signed(operator.privateKey, terms);
const expected: ExpectedGrant = terms;
const iso = (ms: number) => new Date(ms).toISOString();
const signedWith = (changed: Partial<GrantTerms>) => signed(operator.privateKey, { ...terms, ...changed });

/** A key whose signature is another text in base64url: one in fifteen is the same. */
function withOddSignature(): ReturnType<typeof keyPair> {
  for (;;) {
    const pair = keyPair();
    if (/[+/]/.test(signed(pair.privateKey, terms).signature)) return pair;
  }
}

interface Trial {
  readonly key?: KeyObject;
  readonly grant?: unknown;
  readonly expected?: Partial<ExpectedGrant>;
  readonly nowMs?: number;
}

function tried({
  key = operator.publicKey,
  grant: given = grant,
  expected: other,
  nowMs = GRANTED_AT,
}: Trial) {
  return () => verifyGrant(key, given, { ...expected, ...other }, nowMs);
}

const bytes = Buffer.from(grant.signature, "base64");
const withSignature = (signature: string): Grant => ({ ...grant, signature });

describe("a grant", () => {
  it("is valid as it was signed, to the last millisecond of its life", () => {
    expect(tried({})()).toEqual(grant);
    expect(tried({ nowMs: GRANTED_AT + GRANT_LIFE_MS - 1 })()).toEqual(grant);
    expect(tried({ grant: JSON.parse(JSON.stringify(grant)) })()).toEqual(grant);
  });

  it.each<[string, Trial, RegExp]>([
    ["signed by another key", { grant: signed(stranger.privateKey, terms) }, /did not sign/],
    ["checked with another key", { key: stranger.publicKey }, /did not sign/],
    [
      "grant-1 checked with a key of another kind",
      { key: createSecretKey(Buffer.alloc(32)) },
      /did not sign/,
    ],
    [
      "grant-1 a signature of zeros",
      { grant: withSignature(Buffer.alloc(64).toString("base64")) },
      /did not sign/,
    ],
    ["no signature", { grant: withSignature("") }, /did not sign/],
    [
      "grant-1 a signature cut short",
      { grant: withSignature(bytes.subarray(0, 63).toString("base64")) },
      /did not sign/,
    ],
    [
      "grant-1 a signature with an extra byte",
      { grant: withSignature(Buffer.concat([bytes, bytes.subarray(0, 1)]).toString("base64")) },
      /did not sign/,
    ],
    [
      "grant-1 a signature in base64url",
      { grant: withSignature(`${bytes.toString("base64url")}==`) },
      /did not sign/,
    ],
    ["a signature with white space", { grant: withSignature(`${grant.signature}\n`) }, /did not sign/],
    [
      "grant-1 altered: another fingerprint",
      { grant: { ...grant, fingerprint: "f".repeat(64) } },
      /did not sign/,
    ],
    [
      "grant-1 altered: another approval",
      { grant: { ...grant, approval: "appr_01k0000000e008000000000004" } },
      /did not sign/,
    ],
    [
      "grant-1 altered: another end of its life",
      { grant: { ...grant, expiresAt: iso(GRANTED_AT + GRANT_LIFE_MS - 1) } },
      /did not sign/,
    ],
    ["altered: another person", { grant: { ...grant, by: "user:mallory" } }, /did not sign/],
    [
      "grant-1 altered: another record",
      { grant: { ...grant, request: { ...grant.request, seq: 42 } } },
      /did not sign/,
    ],
    ["an additional field", { grant: { ...grant, always: true } }, /form/],
    ["a missing field", { grant: { ...grant, by: undefined } }, /form/],
    ["another version", { grant: { ...grant, version: 2 } }, /form/],
    ["a time without milliseconds", { grant: { ...grant, expiresAt: "2026-01-02T03:14:05Z" } }, /form/],
    [
      "a record number that is a string",
      { grant: { ...grant, request: { ...grant.request, seq: "41" } } },
      /form/,
    ],
    ["a string", { grant: JSON.stringify(grant) }, /form/],
    ["null", { grant: null }, /form/],
    ["true", { grant: true }, /form/],
    [
      "grant-2 for another approval",
      { grant: signedWith({ approval: "appr_01k0000000e008000000000004" }) },
      /another approval/,
    ],
    ["for another home", { expected: { home: "home_01k0000000e008000000000009" } }, /another home/],
    [
      "grant-2 for another session, such as a fork",
      { expected: { session: "sess_01k0000000e008000000000009" } },
      /another session/,
    ],
    [
      "grant-2 for another record",
      { expected: { request: { seq: 42, hash: expected.request.hash } } },
      /another record/,
    ],
    [
      "grant-2 for the same number in another journal",
      { expected: { request: { seq: 41, hash: "b".repeat(64) } } },
      /another record/,
    ],
    [
      "grant-2 for another action",
      { expected: { fingerprint: fingerprintOf({ ...anAction, task: 4 }) } },
      /another fingerprint/,
    ],
    ["at the end of its life", { nowMs: GRANTED_AT + GRANT_LIFE_MS }, /expired/],
    ["long after its life", { nowMs: GRANTED_AT + 1e10 }, /expired/],
    ["before it was granted, by a clock that was set back", { nowMs: GRANTED_AT - 1 }, /future/],
    ["at a time that is not a number", { nowMs: Number.NaN }, /future/],
    [
      "grant-3 signed for longer than ten minutes",
      { grant: signedWith({ expiresAt: iso(GRANTED_AT + GRANT_LIFE_MS + 1) }) },
      /minutes/,
    ],
    ["signed for a life of zero", { grant: signedWith({ expiresAt: iso(GRANTED_AT) }) }, /minutes/],
    [
      "grant-3 signed to end before it begins",
      { grant: signedWith({ expiresAt: iso(GRANTED_AT - 1) }) },
      /minutes/,
    ],
    [
      "grant-3 signed until a date that does not exist",
      { grant: signedWith({ expiresAt: "2026-13-45T03:14:05.678Z" }) },
      /minutes/,
    ],
  ])("grant-1, grant-2, grant-3: is not valid: %s", (_, trial, reason) => {
    expect(tried(trial)).toThrow(reason);
    expect(codeOf(tried(trial))).toBe("grant_invalid");
  });

  it("grant-2 is not valid for another fingerprint, approval, home or session", () => {
    for (const field of ["fingerprint", "approval", "home", "session"] as const)
      expect(codeOf(tried({ expected: { [field]: `${expected[field]}0` } }))).toBe("grant_invalid");
  });

  it("grant-1 is not valid with any bit of its signature flipped", () => {
    fc.assert(
      fc.property(fc.nat(511), (bit) => {
        const turned = Buffer.from(bytes);
        turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(codeOf(tried({ grant: withSignature(turned.toString("base64")) }))).toBe("grant_invalid");
      }),
    );
  });

  it("grant-1 is not valid if its text was cut, wherever the cut is", () => {
    const text = JSON.stringify(grant);
    for (let length = 0; length < text.length; length += 1) {
      const cut = text.slice(0, length);
      expect(codeOf(tried({ grant: parsedOr(cut) }))).toBe("grant_invalid");
    }
  });

  it("grant-3 expires by the clock or the time of the last record, whichever is later", () => {
    expect(timeAfter(1000, iso(5000))).toBe(5000);
    expect(timeAfter(9000, iso(5000))).toBe(9000);
    expect(timeAfter(1000, undefined)).toBe(1000);
    expect(timeAfter(1000, "yesterday")).toBe(1000);
    // Setting the clock back does not make it valid again.
    const nowMs = timeAfter(GRANTED_AT, iso(GRANTED_AT + GRANT_LIFE_MS));
    expect(tried({ nowMs })).toThrow(/expired/);
  });
});

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
