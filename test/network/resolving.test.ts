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

  it.each(["::ffff:93.184.216.34", "::ffff:5db8:d822", "2002:5db8:d822::1", "64:ff9b::5db8:d822"])(
    "treat a public address of this machine as private inside another one: %s",
    (address) => {
      expect(addressKindHere(address, ["93.184.216.34"])).toBe("private");
      expect(addressKindHere(address, ["93.184.216.35"])).toBe("public");
    },
  );

  it("treat a public address of this machine as private however it is spelled", () => {
    expect(addressKindHere("2600:0:0:0::00A1", ["fe80::1%eth0", "2600::a1"])).toBe("private");
    expect(addressKindHere("2600::a2", ["2600::a1"])).toBe("public");
  });

  it("are refused when very many wait, and go on after that", async () => {
    const asked = await Promise.allSettled(Array.from({ length: 300 }, () => resolveName("localhost")));
    const refused = asked.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
    expect(refused).toHaveLength(300 - 256 - 2);
    expect(new Set(refused)).toEqual(new Set(["Error: too many names are being looked up"]));
    expect((await resolveName("localhost")).length).toBeGreaterThan(0);
  });
});
