/**
 * This code, docs/security.md and a program in another language agree on docs/approval-vectors.json.
 */
import { spawnSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  canonical,
  declarationHash,
  fingerprintOf,
  parseExact,
  signedBytes,
  verifyGrant,
} from "../../src/approval/index.ts";
import { type Action, grantSchema, type Json, type JsonObject } from "../../src/contract/index.ts";
import { codeOf } from "../support/approvals.ts";
import { TempDir } from "../support/home.ts";

interface Vectors {
  readonly canonical: { name: string; json: string; canonical: string }[];
  readonly refused: { name: string; json: string }[];
  readonly declarations: { name: string; input: JsonObject; declaration: Json; hash: string }[];
  readonly actions: { name: string; action: Action; canonical: string; fingerprint: string }[];
  readonly grants: { name: string; publicKey: string; signed: string; grant: unknown }[];
}

const root = join(import.meta.dirname, "..", "..");
const path = join(root, "docs", "approval-vectors.json");
const vectors: Vectors = JSON.parse(readFileSync(path, "utf8"));
const page = readFileSync(join(root, "docs", "security.md"), "utf8");
/** The DER bytes before the 32 bytes of an Ed25519 public key. */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

const checker = join(import.meta.dirname, "check_vectors.py");
const runChecker = (file: string) => spawnSync("python3", [checker, file], { encoding: "utf8" });
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) console.log("left out: the vectors of approvals in another language: there is no python3");

describe("the approval vectors", () => {
  it.each(vectors.canonical)("canonical: $name", ({ json, canonical: form }) => {
    expect(canonical(parseExact(json))).toBe(form);
  });

  it.each(vectors.refused)("refused: $name", ({ json }) => {
    expect(codeOf(() => parseExact(json))).toBe("arguments_invalid");
  });

  it.each(vectors.declarations)("declaration: $name", ({ input, declaration, hash }) => {
    expect(declarationHash(input, declaration)).toBe(hash);
  });

  it.each(vectors.actions)("action: $name", ({ action, canonical: form, fingerprint }) => {
    expect(canonical(action)).toBe(form);
    expect(fingerprintOf(action)).toBe(fingerprint);
  });

  it.each(vectors.grants)("grant: $name", ({ publicKey, signed, grant }) => {
    const spki = Buffer.concat([SPKI, Buffer.from(publicKey, "base64")]);
    const key = createPublicKey({ key: spki, format: "der", type: "spki" });
    const parsed = grantSchema.parse(grant);
    expect(signedBytes(parsed).toString()).toBe(signed);
    expect(verifyGrant(key, grant, parsed, Date.parse(parsed.grantedAt))).toEqual(parsed);
  });

  it("docs/security.md shows the first action's canonical form and fingerprint", () => {
    const first = vectors.actions[0];
    expect(page).toContain(`\n${first?.canonical}\n`);
    expect(page).toContain(`\`${first?.fingerprint}\``);
    for (const domain of ["holdfast-action-v1", "holdfast-declaration-v1", "holdfast-grant-v1"])
      expect(page).toContain(`\`${domain}\``);
    expect(page).toContain("](approval-vectors.json)");
  });

  it.skipIf(!hasPython)("a Python program gets the same results and detects every changed vector", () => {
    const { status, stdout } = runChecker(path);
    const count = Object.values(vectors).flat().length;
    expect({ status, stdout }).toEqual({ status: 0, stdout: `checked ${count}\n` });
    using dir = new TempDir();
    const changed = dir.join("changed.json");
    writeFileSync(changed, withOthers());
    const seen = runChecker(changed);
    expect(seen.status).toBe(1);
    // A line for each vector, with those that should be refused, and the line with the count.
    expect(seen.stdout.trim().split("\n")).toHaveLength(count + 1);
  });
});

/** All vectors, each with one value changed. */
function withOthers(): string {
  const other = (hex: string) => hex.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
  return JSON.stringify({
    canonical: vectors.canonical.map((one) => ({ ...one, canonical: `${one.canonical} ` })),
    refused: vectors.refused.map((one) => ({ ...one, json: "{}" })),
    declarations: vectors.declarations.map((one) => ({ ...one, hash: other(one.hash) })),
    actions: vectors.actions.map((one) => ({ ...one, fingerprint: other(one.fingerprint) })),
    grants: vectors.grants.map((one) => ({
      ...one,
      grant: { ...grantSchema.parse(one.grant), signature: Buffer.alloc(64, 1).toString("base64") },
    })),
  });
}
