import { describe, expect, it } from "vitest";
import { redactingValues, redactSecrets, secretsIn, ValueFilter } from "../../src/redaction/index.ts";
import { Excerpt } from "../../src/session/index.ts";

describe("an excerpt of output", () => {
  const value = "marmalade-é-0123456789-teapot";
  const secrets = secretsIn({ FIRST: value });
  const redact = redactingValues(redactSecrets, () => secrets);
  const bytes = Buffer.from(value);
  const pieces = (text: string) =>
    Array.from({ length: value.length - 7 }, (_, at) => value.slice(at, at + 8)).filter((one) =>
      text.includes(one),
    );

  it("value-1 shows no part of a value at the places where the output is cut", async () => {
    const [head, tail, total] = [32 * 1024, 96 * 1024, 200 * 1024];
    for (let shift = 0; shift <= bytes.length; shift += 1) {
      const output = Buffer.alloc(total, ".");
      for (const border of [head, total - tail]) bytes.copy(output, border - shift);
      // The writer was killed in the middle of the value.
      bytes.copy(output, total - shift);
      const excerpt = new Excerpt();
      for (let at = 0; at < total; at += 10_000) excerpt.add(output.subarray(at, at + 10_000));
      const [redaction] = await redact([{ output: excerpt.text(secrets) }]);
      expect(pieces(String(redaction?.data["output"])), `shifted by ${shift}`).toEqual([]);
    }
  });

  it("value-1 redacts a value across the end of its first part, where nothing is cut", async () => {
    const excerpt = new Excerpt();
    excerpt.add(Buffer.concat([Buffer.alloc(32 * 1024 - 11, "."), bytes, Buffer.from("\n")]));
    const [redaction] = await redact([{ output: excerpt.text(secrets) }]);
    expect(redaction?.data["output"]).toMatch(/\.\[redacted:env:FIRST\]\n$/);
  });

  it("value-1 the filter for byte streams redacts values in whatever pieces the bytes arrive", () => {
    const repeating = { name: "SECOND", value: "abcabcabc" };
    const text = Buffer.from(`x${value}y${value.slice(0, 10)}z\xff${value} ${"abc".repeat(4)}! abcab`);
    for (let length = 1; length <= text.length; length += 1) {
      const filter = new ValueFilter(() => [...secrets, repeating]);
      const parts: Buffer[] = [];
      for (let at = 0; at < text.length; at += length)
        parts.push(filter.push(text.subarray(at, at + length)));
      const result = Buffer.concat([...parts, filter.end()]).toString();
      expect(result).toBe(
        `x[redacted:env:FIRST]y${value.slice(0, 10)}z\xff[redacted:env:FIRST] [redacted:env:SECOND]abc! abcab`,
      );
    }
  });
});
