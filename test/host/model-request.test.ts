/**
 * What Holdfast reads of an agent's request to a model, compared with a parser of its body.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelOf, wantedOf } from "../../src/host/model-request.ts";

const messages = { api: "anthropic", path: "/v1/messages" } as const;
const named = (body: string) => modelOf(messages, Buffer.from(body));

describe("an agent's request to a model", () => {
  it("names the model that a parser finds at its top level, wherever else that name occurs", () => {
    const names = fc.oneof(fc.constant("claude"), fc.string({ minLength: 1, maxLength: 40 }));
    const key = fc.oneof(fc.constant("model"), fc.constant("x"), fc.string());
    const value = fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue()), fc.array(key), key);
    const fields = fc.array(fc.tuple(key, value), { maxLength: 5 });
    const space = fc.constantFrom(undefined, 2, "\t");
    fc.assert(
      fc.property(fields, names, fields, space, (before, name, after, indent) => {
        const others = [before, after].map((all) =>
          Object.fromEntries(all.filter(([one]) => one !== "model")),
        );
        expect(named(JSON.stringify({ ...others[0], model: name, ...others[1] }, null, indent))).toBe(name);
      }),
      { numRuns: 400 },
    );
    // A key that comes twice, and an escape, are also read as by a parser.
    expect(named('{"model":"a","model":"b"}')).toBe("b");
    expect(named('{"model":"a\\"b"}')).toBe('a"b');
  });

  it("has an unknown model if it names none or is not an object", () => {
    const bodies = [
      '{"x":{"model":"a"}}',
      '{"model":{"a":"b"}}',
      '["model","a"]',
      '{"model":1}',
      '{"x":"model","y":"a"}',
      "",
      '{"model":"',
    ];
    for (const body of bodies) expect(named(body), body).toBe("unknown");
    expect(named(JSON.stringify({ model: "m".repeat(10_000) }))).toBe("unknown");
  });

  it("is read in little memory, however deeply it is nested", () => {
    const depth = 8_000_000;
    const deep = Buffer.from(`{"x":${"[".repeat(depth)}${"]".repeat(depth)},"model":"m"}`);
    const before = process.memoryUsage().heapUsed;
    expect(modelOf(messages, deep)).toBe("m");
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(16 * 1024 * 1024);
  });

  it("names its model in the path if it uses Gemini's API, and has an unknown model if that is malformed", () => {
    const gemini = (path: string) =>
      modelOf({ api: "gemini", ...wantedOf({ url: `/gemini${path}` }) }, Buffer.from("{}"));
    expect(gemini("/v1beta/models/gemini-3-pro:generateContent?alt=sse")).toBe("gemini-3-pro");
    expect(gemini("/v1beta/models/tuned:gemini-3-pro:generateContent")).toBe("tuned:gemini-3-pro");
    expect(gemini("/v1beta/models/%zz:generateContent")).toBe("unknown");
    expect(gemini("/v1beta/models?x=/models/gemini-3-pro:countTokens")).toBe("unknown");
  });

  it("can't name another model in its query or in a path of another API", () => {
    const body = Buffer.from('{"model":"claude-opus-4-5"}');
    for (const path of ["/v1/messages?x=/models/claude-haiku-4-5", "/v1/models/claude-haiku-4-5:x"])
      expect(modelOf({ api: "anthropic", path }, body), path).toBe("claude-opus-4-5");
    const asked = "/v1beta/models/gemini-3-pro:generateContent?x=/models/gemini-2.5-flash:generateContent";
    expect(modelOf({ api: "gemini", path: asked }, Buffer.from("{}"))).toBe("gemini-3-pro");
  });
});
