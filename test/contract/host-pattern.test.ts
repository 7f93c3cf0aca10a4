/**
 * How a host may be named, by people who mean well and by those who don't.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostPatternSchema, parseHostPattern, whyNoHost } from "../../src/contract/index.ts";

describe("I4 host patterns", () => {
  it.each([
    ["example.org", { kind: "one", name: "example.org", port: undefined }],
    ["Registry.NPMJS.org", { kind: "one", name: "registry.npmjs.org", port: undefined }],
    ["localhost:5432", { kind: "one", name: "localhost", port: 5432 }],
    ["*.example.org", { kind: "below", name: "example.org", port: undefined }],
    ["*.example.org:8443", { kind: "below", name: "example.org", port: 8443 }],
    ["*", { kind: "any", name: "", port: undefined }],
    ["*:443", { kind: "any", name: "", port: 443 }],
    ["xn--mnchen-3ya.de", { kind: "one", name: "xn--mnchen-3ya.de", port: undefined }],
    ["1password.com", { kind: "one", name: "1password.com", port: undefined }],
  ])("%s can be one", (text, pattern) => {
    expect(parseHostPattern(hostPatternSchema.parse(text))).toEqual(pattern);
  });

  it.each([
    ["127.0.0.1", "IP address"],
    ["127.1", "IP address"],
    ["2130706433", "IP address"],
    ["0x7f000001", "IP address"],
    ["0x7f.1:80", "IP address"],
    ["foo.0x", "IP address"],
    ["*.1", "IP address"],
    ["[::1]", "IP address"],
    ["::1", "IP address"],
    ["fe80::1:443", "IP address"],
    ["example.org:0", "port"],
    ["example.org:65536", "port"],
    ["example.org:080", "port"],
    ["example.org:", "port"],
    ["https://example.org", "path"],
    ["user@example.org", "path"],
    ["example.org/path", "path"],
    ["münchen.de", "ASCII"],
    ["example。org", "ASCII"],
    ["exam*.org", "*"],
    ["*.*.org", "*"],
    ["**", "*"],
    ["*example.org", "*"],
    ["", "not the name"],
    ["*.", "not the name"],
    [".", "not the name"],
    ["example.org.", "not the name"],
    ["example..org", "not the name"],
    ["-example.org", "not the name"],
    ["exa mple.org", "not the name"],
    ["example.org\r\nHost: x", "port"],
    ["example.org\0", "not the name"],
    [`${"a.".repeat(127)}org`, "not the name"],
  ])("%j is refused", (text, reason) => {
    expect(hostPatternSchema.safeParse(text).error?.issues[0]?.message).toContain(reason);
  });

  it("I4 what is taken for one has one form, and no URL reads it as an address", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^(\*\.)?[0-9A-Za-zx.*-]{1,16}(:[0-9]{1,6})?$/), (text) => {
        const parsed = hostPatternSchema.safeParse(text);
        if (!parsed.success) return;
        expect(whyNoHost(parsed.data)).toBeUndefined();
        const { kind, name, port } = parseHostPattern(parsed.data);
        const head = { one: name, below: `*.${name}`, any: "*" }[kind];
        expect(parsed.data).toBe(port === undefined ? head : `${head}:${port}`);
        if (kind !== "any" && !name.includes("xn--")) expect(new URL(`http://${name}`).hostname).toBe(name);
      }),
    );
  });
});
