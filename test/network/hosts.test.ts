/**
 * Which hosts a pattern matches: examples, and properties that hold for every text.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isHoldfastError, parseHosts } from "../../src/contract/index.ts";
import { Gate } from "../../src/network/gate.ts";
import { hostName, hostText, isAddress, mayReach, parseHost } from "../../src/network/hosts.ts";

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/).filter((text) => text !== "localhost");
const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
const port = fc.integer({ min: 1, max: 65_535 });
const octet = fc.integer({ min: 0, max: 255 });

const refusal = (text: string) => {
  try {
    return parseHost(text);
  } catch (error) {
    if (isHoldfastError(error, "invalid_host")) return error.message;
    throw error;
  }
};
const allowed = (pattern: string, host: string, toPort = 443) => mayReach([parseHost(pattern)], host, toPort);

describe("host patterns", () => {
  it("a name alone matches ports 443 and 80, and a name with a port matches only that port", () => {
    for (const [pattern, toPort] of [
      ["example.org", 443],
      ["example.org", 80],
      ["example.org:8443", 8443],
    ] as const)
      expect(allowed(pattern, "example.org", toPort)).toBe("named");
    for (const [pattern, toPort] of [
      ["example.org", 8443],
      ["example.org", 22],
      ["example.org:8443", 443],
    ] as const)
      expect(allowed(pattern, "example.org", toPort)).toBeUndefined();
  });

  it("*.example.org matches every subdomain but not the domain, and * matches every host", () => {
    expect(allowed("*.example.org", "a.example.org")).toBe("matched");
    expect(allowed("*.example.org", "a.b.example.org")).toBe("matched");
    for (const other of ["example.org", "aexample.org", "example.org.evil.net", "a.example.org.evil.net"])
      expect(allowed("*.example.org", other), other).toBeUndefined();
    expect(allowed("*", "example.org")).toBe("matched");
    expect(allowed("*", "example.org", 22)).toBeUndefined();
    expect(allowed("*:8443", "example.org", 8443)).toBe("matched");
  });

  it("the --host that a refusal suggests is valid and allows the refused host", async () => {
    const sentenceFor = async (host: string, toPort: number) => {
      const judged = await new Gate({ hosts: [] }).judge(host, toPort);
      return judged.kind === "refused" ? judged.refusal.sentence : "";
    };
    const odd = fc.constantFrom("my_host.example", "_dmarc.example.org", "localhost", "a.localhost", "x_");
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(name, odd),
        fc.oneof(port, fc.constantFrom(80, 443)),
        async (host, toPort) => {
          const [, hint = ""] = /--host (\S+)/.exec(await sentenceFor(host, toPort)) ?? [];
          expect(parseHosts([hint])).toEqual([hint]);
          const pattern = parseHost(hint);
          if (pattern.kind === "loopback") expect(pattern.port).toBe(toPort);
          else expect(mayReach([pattern], host, toPort)).toBe("named");
        },
      ),
    );
  });

  it("only localhost:PORT can name this machine, and the proxy never leads there", () => {
    expect(parseHost("localhost:5432")).toEqual({ kind: "loopback", port: 5432 });
    expect(parseHost("LocalHost.:5432")).toEqual({ kind: "loopback", port: 5432 });
    expect(refusal("localhost")).toContain("which port");
    for (const text of ["a.localhost:80", "*.localhost", "*.localhost:80"])
      expect(refusal(text), text).toContain("only localhost:PORT");
    for (const pattern of ["localhost:5432", "*", "*:5432"])
      for (const host of ["localhost", "a.localhost"])
        expect(allowed(pattern, host, 5432), `${pattern} ${host}`).toBeUndefined();
  });

  it("a text that is not a host is refused with a helpful reason", () => {
    expect(refusal("https://example.org")).toContain("without https://");
    expect(refusal("example.org/path")).toContain("without a path");
    expect(refusal("user@example.org")).toContain("name alone");
    expect(refusal("1.2.3.4")).toContain("address");
    expect(refusal("[::1]:443")).toContain("address");
    expect(refusal("ex*.org")).toContain("stands alone");
    for (const text of ["example.org:0", "example.org:", "example.org:65536", "example.org:080", "a:+80"])
      expect(refusal(text), text).toContain("not a port");
    for (const text of [
      "",
      ".",
      "a..b",
      "-a.org",
      "a-.org",
      "a b",
      "a\r\nb",
      "a\tb",
      " a.org",
      "ex%61mple.org",
    ])
      expect(refusal(text), JSON.stringify(text)).toContain("can't be a host");
    expect(refusal(`${"a".repeat(64)}.org`)).toContain("not the name");
    expect(refusal(`${"a.".repeat(127)}org`)).toContain("not the name");
  });

  it("host-2 an address is not a name, in any spelling", () => {
    for (const text of [
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f000001",
      "0x7f.0.0.1",
      "0177.0.0.1",
      "017700000001",
      "127.0.0.1.",
      "１２７.０.０.１",
      "127。0。0。1",
      "①②⑦.0.0.1",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "[::1]",
      "fe80::1%eth0",
      "169.254.169.254",
      "0",
    ]) {
      expect(hostName(text), text).toBeUndefined();
      expect(isAddress(text), text).toBe(true);
      expect(refusal(text), text).toContain("can't be a host");
      expect(refusal(`${text}:443`), text).toContain("can't be a host");
    }
    for (const text of ["example.1", "example.0x7f", "1.2.3.4.5", "999.999.999.999", "%31%32%37.0.0.1"])
      expect(hostName(text), text).toBeUndefined();
  });

  it("host-2 no spelling of a random address is a name", () => {
    const radix = fc.constantFrom(8, 10, 16);
    const part = fc.tuple(octet, radix).map(([value, base]) => inBase(value, base));
    const spelled = fc.oneof(
      fc.tuple(part, part, part, part).map((parts) => parts.join(".")),
      fc.tuple(part, part).map((parts) => parts.join(".")),
      fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), radix).map(([value, base]) => inBase(value, base)),
      fc.ipV6(),
      fc.ipV4(),
    );
    fc.assert(
      fc.property(spelled, fc.boolean(), (text, hasDot) => {
        expect(hostName(hasDot ? `${text}.` : text)).toBeUndefined();
        expect(mayReach([parseHost("*")], text, 443)).toBeUndefined();
      }),
    );
  });

  it("host-3 a name has one spelling, whatever its case, width of letters or trailing dot", () => {
    for (const text of [
      "EXAMPLE.org",
      "example.org.",
      "ｅｘａｍｐｌｅ.org",
      "example。org",
      "exa\u00admple.org",
    ])
      expect(hostName(text), text).toBe("example.org");
    expect(hostName("bücher.example")).toBe("xn--bcher-kva.example");
    // This one looks the same, but its a is a Cyrillic letter.
    expect(hostName("ex\u0430mple.org")).toBe("xn--exmple-4nf.org");
    expect(allowed("example.org", hostName("ex\u0430mple.org") ?? "")).toBeUndefined();
  });

  it("host-3 a name in its one spelling stays as it is, and no other spelling is reached", () => {
    fc.assert(
      fc.property(fc.oneof(name, fc.string(), fc.string({ unit: "grapheme" })), (text) => {
        const one = hostName(text);
        if (one !== undefined) expect(hostName(one)).toBe(one);
        if (one !== text) expect(mayReach([parseHost("*")], text, 443)).toBeUndefined();
      }),
    );
  });

  it("a pattern stays the same when it is written as text and parsed again", () => {
    const text = fc
      .tuple(fc.constantFrom("", "*."), name, fc.option(port))
      .map(([star, host, to]) => `${star}${host}${to === null ? "" : `:${to}`}`);
    fc.assert(
      fc.property(fc.oneof(text, fc.constantFrom("*", "*:22", "localhost:1")), (one) => {
        expect(hostText(parseHost(one))).toBe(one);
        expect(parseHost(hostText(parseHost(one.toUpperCase())))).toEqual(parseHost(one));
      }),
    );
  });

  it("a wildcard matches names with labels before its domain, and nothing else", () => {
    fc.assert(
      fc.property(name, name, (parent, other) => {
        const isBelow = other.length > parent.length && other.endsWith(`.${parent}`);
        expect(allowed(`*.${parent}`, other)).toBe(isBelow ? "matched" : undefined);
        expect(allowed(`*.${parent}`, `${other}.${parent}`)).toBe("matched");
        expect(allowed(parent, other)).toBe(parent === other ? "named" : undefined);
      }),
    );
  });

  it("any text is either a pattern or refused with invalid_host", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          name.map((one) => `https://${one}:1/`),
        ),
        (text) => void refusal(text),
      ),
    );
  });
});

function inBase(value: number, base: number): string {
  return (base === 16 ? "0x" : base === 8 ? "0" : "") + value.toString(base);
}
