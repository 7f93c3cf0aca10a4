/**
 * Where a trace goes, by the variables that OpenTelemetry defines.
 */
import { describe, expect, it } from "vitest";
import { collectorOf, telemetryIn, telemetrySecrets } from "../../src/contract/index.ts";

const BASE = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
const TIMEOUT = "OTEL_EXPORTER_OTLP_TIMEOUT";

const collectorIn = (env: Record<string, string>) => collectorOf(telemetryIn(env) ?? {});
const addressIn = (env: Record<string, string>) => collectorIn(env)?.url.href;

describe("the variables of OpenTelemetry", () => {
  it("name a base address for all signals, or the exact address for traces", () => {
    expect(addressIn({ [BASE]: "http://collector:4318" })).toBe("http://collector:4318/v1/traces");
    expect(addressIn({ [BASE]: "https://c/otlp/?k=1" })).toBe("https://c/otlp/v1/traces?k=1");
    expect(addressIn({ [BASE]: "http://a", [TRACES]: "http://b/x" })).toBe("http://b/x");
    expect(addressIn({ [TRACES]: "http://b" })).toBe("http://b/");
  });

  it("count as not set if they are empty, and are ignored without an address", () => {
    expect(telemetryIn({ [BASE]: " ", [HEADERS]: "a=b" })).toBeUndefined();
    expect(telemetryIn({ [BASE]: "http://a", [HEADERS]: "", PATH: "/bin" })).toEqual({ [BASE]: "http://a" });
  });

  it.each([
    "ftp://a",
    "unix:/run/x",
    "collector:4318",
    "not an address",
    "http://ani:word@a",
    "file:///etc/passwd",
  ])("do not accept %s as an address", (address) => {
    expect(collectorIn({ [BASE]: address })).toBeUndefined();
  });

  it("list headers encoded as in a URL, with commas between them", () => {
    const headers = "authorization=Basic%20YTpiYzEyMzQ=, X-Scope = ten%ant ,broken,=x";
    expect(collectorIn({ [BASE]: "http://a", [HEADERS]: headers })?.headers).toEqual({
      authorization: "Basic YTpiYzEyMzQ=",
      "x-scope": "ten%ant",
    });
    const own = { [BASE]: "http://a", [HEADERS]: "a=1", OTEL_EXPORTER_OTLP_TRACES_HEADERS: "b=2" };
    expect(collectorIn(own)?.headers).toEqual({ b: "2" });
    const secrets = telemetrySecrets({ [HEADERS]: headers }).flatMap(Object.values);
    expect(secrets).toEqual(
      expect.arrayContaining(["Basic YTpiYzEyMzQ=", "YTpiYzEyMzQ=", "Basic%20YTpiYzEyMzQ=", "ten%ant"]),
    );
  });

  it.each([
    ["250", 250],
    ["0.5", 1],
    ["99999999", 10_000],
    ["-1", 10_000],
    ["soon", 10_000],
  ])("limit the time for a trace by %s, to ten seconds at most", (text, timeoutMs) => {
    expect(collectorIn({ [BASE]: "http://a", [TIMEOUT]: text })).toMatchObject({ timeoutMs });
  });
});
