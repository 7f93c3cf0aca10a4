/**
 * Which answers of a provider say that a usage limit is reached, and until when.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { usageLimitOf } from "../../src/metering/index.ts";

const nowMs = Date.parse("2026-11-16T12:00:00.000Z");
const inTwoHours = "2026-11-16T14:00:00.000Z";
const seconds = (text: string) => Date.parse(text) / 1000;

function until(headers: Record<string, string>, body: unknown = "", status = 429): string | undefined {
  return usageLimitOf(
    { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) },
    nowMs,
  );
}

describe("a usage limit", () => {
  it("is a 429 answer that names the time of its reset", () => {
    expect(
      until({ "anthropic-ratelimit-unified-reset": `${seconds(inTwoHours)}`, "retry-after": "60" }),
    ).toBe(inTwoHours);
    expect(until({}, { error: { type: "usage_limit_reached", resets_at: seconds(inTwoHours) } })).toBe(
      inTwoHours,
    );
    expect(until({}, { error: { type: "usage_limit_reached", resets_in_seconds: 7200 } })).toBe(inTwoHours);
    expect(
      until({}, { error: { code: 429, details: [{ "@type": "QuotaFailure" }, { retryDelay: "7200s" }] } }),
    ).toBe(inTwoHours);
    expect(until({ "retry-after": "7200" })).toBe(inTwoHours);
    expect(until({ "retry-after": "Mon, 16 Nov 2026 14:00:00 GMT" })).toBe(inTwoHours);
  });

  it("is not a short rate limit, another status, or a reset that is past or implausible", () => {
    expect(until({ "retry-after": "16" })).toBeUndefined();
    expect(until({}, { error: { details: [{ retryDelay: "34.07s" }] } })).toBeUndefined();
    expect(until({})).toBeUndefined();
    expect(until({}, { error: { type: "insufficient_quota" } })).toBeUndefined();
    expect(until({ "retry-after": "7200" }, "", 529)).toBeUndefined();
    expect(until({ "retry-after": "7200" }, "", 200)).toBeUndefined();
    expect(until({ "anthropic-ratelimit-unified-reset": "1000" })).toBeUndefined();
    expect(until({ "retry-after": "999999999999" })).toBeUndefined();
  });

  it("of a subscription is reached only if its status says so, or none is given", () => {
    const reset = { "anthropic-ratelimit-unified-reset": `${seconds(inTwoHours)}` };
    const withStatus = (status: string, more = {}) =>
      until({ ...reset, "anthropic-ratelimit-unified-status": status, ...more });
    expect(withStatus("rejected", { "retry-after": "12" })).toBe(inTwoHours);
    expect(until(reset)).toBe(inTwoHours);
    for (const status of ["allowed", "allowed_warning", "queueing_soft"]) {
      expect(withStatus(status), status).toBeUndefined();
      expect(withStatus(status, { "retry-after": "12" }), status).toBeUndefined();
    }
    expect(withStatus("allowed", { "retry-after": "7200" })).toBe(inTwoHours);
  });

  it("has a time in the form that records use, whatever the answer contains", () => {
    const value = fc.oneof(fc.string(), fc.nat().map(String));
    const body = fc.oneof(
      fc.string(),
      fc.record({ error: fc.jsonValue() }).map((one) => JSON.stringify(one)),
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("retry-after", "anthropic-ratelimit-unified-reset"), value),
        body,
        (headers, text) => {
          const moment = until(headers, text);
          if (moment !== undefined) expect(moment).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        },
      ),
    );
  });
});
