/**
 * The answers of the machine's own resolver, and its own addresses.
 */
import { describe, expect, it } from "vitest";
import { addressKind } from "../../src/network/addresses.ts";
import { addressKindHere, resolveName } from "../../src/network/resolving.ts";

describe("lookups on this machine", () => {
  it("find addresses for many names at once, and go on after names that do not resolve", async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => resolveName("localhost")));
    for (const addresses of all) {
      expect(addresses.length).toBeGreaterThan(0);
      // All of them are addresses of this machine, which the proxy never reaches.
      expect(addresses.map(addressKind)).toEqual(addresses.map(() => "never"));
    }
    const failing = Array.from({ length: 5 }, () => resolveName("a..b"));
    expect((await Promise.allSettled(failing)).every(({ status }) => status === "rejected")).toBe(true);
    expect((await resolveName("localhost")).length).toBeGreaterThan(0);
  });

  it("treat a public address of this machine itself as private", () => {
    expect(addressKindHere("93.184.216.34", ["93.184.216.34"])).toBe("private");
    expect(addressKindHere("93.184.216.34", ["10.0.0.1"])).toBe("public");
    expect(addressKindHere("127.0.0.1", ["127.0.0.1"])).toBe("never");
    expect(addressKindHere("93.184.216.34")).toBe("public");
  });
});
