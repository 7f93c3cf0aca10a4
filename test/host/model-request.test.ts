/**
 * What Holdfast reads of an agent's request to a model, compared with a parser of its body.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asksModel, modelOf, wantedOf } from "../../src/host/model-request.ts";

const messages = { provider: "anthropic", path: "/v1/messages" };
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
    const gemini = (path: string) => modelOf(wantedOf({ url: `/gemini${path}` }), Buffer.from("{}"));
    expect(gemini("/v1beta/models/gemini-3-pro:generateContent?alt=sse")).toBe("gemini-3-pro");
    expect(gemini("/v1beta/models/%zz:generateContent")).toBe("unknown");
  });

  it("costs something only if a model answers it, not if it counts tokens or lists models", () => {
    const asks = (method: string, path: string) => asksModel(method, { ...messages, path });
    for (const path of [
      "/v1/messages?beta=true",
      "/v1/chat/completions",
      "/v1beta/models/x:streamGenerateContent",
    ])
      expect(asks("POST", path), path).toBe(true);
    for (const path of [
      "/v1/messages/count_tokens",
      "/v1/responses/input_tokens",
      "/v1beta/models/x:countTokens",
    ])
      expect(asks("POST", path), path).toBe(false);
    expect(asks("GET", "/v1/models")).toBe(false);
  });
});
