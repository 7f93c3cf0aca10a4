/**
 * Redaction of text that is too long for one pass, and of bytes that are not text.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RedactedPieces, redactSecrets, withoutSecrets } from "../../src/redaction/index.ts";
import { encodeLossless, LosslessDecoder } from "../../src/util/index.ts";

const noise = (seed: string, length: number) =>
  createHash("shake256", { outputLength: length }).update(seed).digest("base64").slice(0, length);
const word = (seed: string, length: number) =>
  noise(seed, 2 * length)
    .replace(/\W/g, "")
    .slice(0, length);
const token = (seed: string) => `ghp_${word(seed, 36)}`;
/** A token of variable length, half of which is found, too. */
const longToken = (seed: string) => `github_pat_${word(`${seed}a`, 22)}_${word(`${seed}b`, 59)}`;
const key = (seed: string) => {
  // It begins as the rule expects it, with the first bytes of a key's encoding.
  const lines = `MIIE${noise(seed, 4796)}`.match(/.{64}/g) ?? [];
  return `-----BEGIN RSA PRIVATE KEY-----\n${lines.join("\n")}\n-----END RSA PRIVATE KEY-----\n`;
};
const many = (count: number, make: (seed: string) => string) =>
  Array.from({ length: count }, (_, index) => make(String(index))).join("");

async function inPieces(text: string, chunkChars = 50_000, isCut = false): Promise<string> {
  const pieces = new RedactedPieces(redactSecrets);
  let handed = "";
  for (let at = 0; at < text.length; at += chunkChars)
    handed += await pieces.add(text.slice(at, at + chunkChars));
  return handed + (await pieces.end(isCut)).text;
}

const TEXTS = {
  "lines with a secret now and then": many(
    12_000,
    (n) => `line ${n} ${Number(n) % 50 ? word(n, 90) : token(n)}\n`,
  ),
  "keys now and then": many(150, (n) => `${"plain text\n".repeat(600 + Number(n))}${key(n)}`),
  "keys and nothing else": many(300, key),
  "a secret in each line": many(12_000, (n) => `${longToken(n)}\n`),
  "one line": many(12_000, (n) => `"${longToken(n)}", `),
  "no secret": many(15_000, (n) => `line ${n} ${word(n, 80)}\n`),
};

describe("redaction in pieces", () => {
  for (const [what, text] of Object.entries(TEXTS))
    it(`redaction-3 finds the same as a single pass over all of it: ${what}`, async () => {
      expect(text.length).toBeGreaterThan(1_000_000);
      const whole = await withoutSecrets(redactSecrets, text);
      expect(whole.includes("[redacted:")).toBe(what !== "no secret");
      expect((await inPieces(text)) === whole).toBe(true);
    });

  it("redaction-3 leaves no part of a secret that is cut off at the end", async () => {
    const before = "plain text\n".repeat(15_000);
    const secret = key("cut");
    for (const chars of [10, 200, 3000, secret.length - 2]) {
      const handed = await inPieces(before + secret.slice(0, chars), 50_000, true);
      expect(handed).toMatch(/^(plain text\n)+$/);
      expect(handed.length).toBeGreaterThan(before.length - 70_000);
    }
  });
});

describe("bytes decoded as text", () => {
  it("encode to the same bytes however they were split, and UTF-8 reads as text", () => {
    const utf8 = fc.string({ unit: "binary" }).map((text) => Buffer.from(text));
    const anything = fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes));
    const step = fc.integer({ min: 1, max: 7 });
    fc.assert(
      fc.property(fc.array(fc.oneof(utf8, anything)), step, (parts, length) => {
        const bytes = Buffer.concat(parts);
        const decoder = new LosslessDecoder();
        let text = "";
        for (let at = 0; at < bytes.length; at += length)
          text += decoder.write(bytes.subarray(at, at + length));
        expect(encodeLossless(text + decoder.end()).equals(bytes)).toBe(true);
      }),
    );
    const decoder = new LosslessDecoder();
    const bytes = Buffer.concat([
      Buffer.from("pässwörd 😀"),
      Buffer.from([0xff, 0xe2, 0x28]),
      Buffer.from("ü"),
    ]);
    expect(decoder.write(bytes) + decoder.end()).toBe("pässwörd 😀\udcff\udce2(ü");
  });
});
