import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printable, printableJson } from "../../src/util/index.ts";

describe("printable", () => {
  it("printable-1 lets through nothing that a terminal obeys or hides", () => {
    const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
    const nasty = fc.constantFrom(
      "\u001b[2J",
      "\u009b31m",
      "\u007f",
      "\u202e",
      "\u2066",
      "\ud800",
      "\u{e0041}",
      "\r",
      "\b",
      "\u200b",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: "binary" }), nasty)), (parts) => {
        expect(printable(parts.join(""))).not.toMatch(unsafe);
      }),
    );
  });

  it("printable-1 holds for JSON too, which still parses to the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const line = printableJson(value);
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("leaves readable text as it is", () => {
    const text = "Grüße, 世界: ⚠️ <ok> \\n";
    expect(printable(text)).toBe(text);
  });

  it("shows what it replaced as escapes", () => {
    expect(printable("a\nb\tc\u001b[31m")).toBe("a\\nb\\tc\\u{1b}[31m");
  });
});
