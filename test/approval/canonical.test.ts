/**
 * canonical-1 and canonical-2: a value has one form, and a value that parsers treat differently has none.
 */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonical, MAX_DEPTH, MAX_TEXT_BYTES, parseExact } from "../../src/approval/canonical.ts";
import type { Json } from "../../src/contract/index.ts";
import { codeOf } from "../support/approvals.ts";

const nested = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`;

/** Any JSON value that has a canonical form. */
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, min: -1, max: 1 }),
    fc.string({ unit: "grapheme" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ unit: "grapheme" }).filter((key) => key !== "__proto__"),
      tie("value"),
      { maxKeys: 4 },
    ),
  ),
})).value;

function shuffled(value: Json): Json {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, one]) => [key, shuffled(one)]),
  );
}

/** Values of few kinds, so that two of them are often the same. */
const small = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<Json>(null, true, 1, "1", "", "a", 10, 0.1),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "1"), tie("value"), { maxKeys: 2, noNullPrototype: true }),
  ),
})).value;

describe("the canonical form", () => {
  it("canonical-1 does not depend on key order or white space, and is its own canonical form", () => {
    fc.assert(
      fc.property(json, (value) => {
        const form = canonical(value);
        expect(canonical(shuffled(value))).toBe(form);
        expect(canonical(parseExact(JSON.stringify(value, null, 3)))).toBe(form);
        expect(canonical(parseExact(form))).toBe(form);
      }),
    );
  });

  it("canonical-1 two values have the same form only if they are the same", () => {
    let same = 0;
    fc.assert(
      fc.property(small, small, (one, other) => {
        const isSame = isDeepStrictEqual(one, other);
        if (isSame) same += 1;
        expect(canonical(one) === canonical(other)).toBe(isSame);
      }),
      { numRuns: 2000 },
    );
    expect(same).toBeGreaterThan(0);
  });

  it("canonical-2 parseExact reads numbers as their form has them: -0 as 0, 1.0 as 1", () => {
    expect(Object.is(parseExact("-0"), 0)).toBe(true);
    expect(Object.is((parseExact('{"n":[-0.0]}') as { n: number[] }).n[0], 0)).toBe(true);
    expect(parseExact("1.0")).toBe(1);
    expect(parseExact("1e2")).toBe(100);
    expect(canonical(-0)).toBe("0");
  });

  it("parseExact reads UTF-8 bytes and values of the greatest allowed depth", () => {
    expect(parseExact(Buffer.from('{"é":"😀"}'))).toEqual({ é: "😀" });
    expect(parseExact(nested(MAX_DEPTH))).toEqual(JSON.parse(nested(MAX_DEPTH)));
  });

  it.each<[string, string | Buffer, RegExp]>([
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), /not UTF-8/],
    ["a surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /not UTF-8/],
    ["an overlong encoding", Buffer.from([0x22, 0xc0, 0xaf, 0x22]), /not UTF-8/],
    ["a byte order mark, as bytes", Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), /byte order mark/],
    ["a byte order mark, as text", "\ufeff{}", /byte order mark/],
    ["an unescaped lone surrogate", '["\ud800"]', /surrogate/],
    ["an escaped lone surrogate", '{"a":{"b":["x","\\uD800"]}}', /\$\.a\.b\[1\].*surrogate/],
    ["a surrogate pair in the wrong order", '"\\ude00\\ud83d"', /surrogate/],
    ["a lone surrogate in a key", '{"a":{"\\udc00":1}}', /\$\.a, in a key.*surrogate/],
    ["a duplicate key", '{"a":1,"b":{"c":1,"c":2}}', /an object has the key c twice/],
    ["a duplicate key, once escaped", '{"a":1,"\\u0061":1}', /an object has the key a twice/],
    ["__proto__", '{"a":{"__proto__":1}}', /\$\.a: a key may not be __proto__/],
    ["__proto__, escaped", '{"\\u005f_proto__":1}', /__proto__/],
    ["2^53", '{"n":9007199254740992}', /\$\.n: an integer beyond/],
    ["-2^53", "-9007199254740992", /an integer beyond/],
    ["2^53+1, which would be read as 2^53", "9007199254740993", /an integer beyond/],
    ["a large integer with an exponent", "[1e21]", /\$\[0\]: an integer beyond/],
    ["a number beyond every double", "-1e999", /too large/],
    ["one level too many", nested(MAX_DEPTH + 1), /nested/],
    ["a hundred thousand levels", nested(100_000), /nested/],
    ["text above the size limit", `"${"x".repeat(MAX_TEXT_BYTES)}"`, /bytes/],
    ["two values", "{} {}", /not JSON at position 3/],
    ["a comment", '{"a":1/**/}', /not JSON/],
    ["empty text", "", /not JSON/],
  ])("parseExact refuses %s and says why", (_, given, message) => {
    expect(() => parseExact(given)).toThrow(message);
    expect(codeOf(() => parseExact(given))).toBe("arguments_invalid");
  });

  it.each<[string, unknown]>([
    ["NaN", Number.NaN],
    ["infinity", [Number.POSITIVE_INFINITY]],
    ["undefined", { a: undefined }],
    ["a hole in a list", new Array(1)],
    ["an object with a function", { toJSON: () => 1 }],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a bigint", 1n],
    ["a boxed string", Object("x")],
    ["a __proto__ key from JSON.parse", JSON.parse('{"__proto__":1}')],
    ["a lone surrogate", "\udfff"],
  ])("does not exist for a value that is not JSON: %s", (_, value) => {
    expect(codeOf(() => canonical(value))).toBe("arguments_invalid");
  });

  it("parseExact's error does not quote the untrusted input, as V8's message does", () => {
    expect(() => parseExact('{"a": evil}')).toThrow(/^it is not JSON( at position \d+)?$/);
  });
});
