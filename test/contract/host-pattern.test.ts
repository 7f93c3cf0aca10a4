/**
 * Which texts may name a host: those that people write, and those that an attacker might write.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostPatternSchema, whyNoHost } from "../../src/contract/index.ts";
import { hostText, parseHost } from "../../src/network/hosts.ts";

describe("host-1 host patterns", () => {
  it.each([
    ["example.org", "example.org"],
    ["Registry.NPMJS.org", "registry.npmjs.org"],
    ["localhost:5432", "localhost:5432"],
    ["*.example.org", "*.example.org"],
    ["*.example.org:8443", "*.example.org:8443"],
    ["*", "*"],
    ["*:443", "*:443"],
    ["xn--mnchen-3ya.de", "xn--mnchen-3ya.de"],
    ["1password.com", "1password.com"],
  ])("%s is accepted", (text, form) => {
    expect(hostPatternSchema.parse(text)).toBe(form);
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
    ["localhost", "port of this machine"],
    ["*.localhost:80", "only localhost:PORT"],
    ["db.localhost:80", "only localhost:PORT"],
    ["exa mple.org", "not the name"],
    ["example.org\r\nHost: x", "port"],
    ["example.org\0", "not the name"],
    [`${"a.".repeat(127)}org`, "not the name"],
  ])("%j is refused", (text, reason) => {
    expect(hostPatternSchema.safeParse(text).error?.issues[0]?.message).toContain(reason);
  });

  it("host-1 an accepted pattern has one form, and URL parsers and the network read the same name in it", () => {
    const texts = fc.oneof(
      fc.stringMatching(/^(\*\.)?[0-9A-Za-zx.*-]{1,16}(:[0-9]{1,6})?$/),
      fc.stringMatching(/^(\*\.)?((xn--)?[0-9a-z]{1,6}|localhost)(\.(org|localhost|0x1))?(:80)?$/),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = hostPatternSchema.safeParse(text);
        if (!parsed.success) return;
        expect(whyNoHost(parsed.data)).toBeUndefined();
        expect(hostText(parseHost(parsed.data))).toBe(parsed.data);
        const name = parsed.data.replace(/^\*\.|:.*$/g, "");
        if (name !== "*") expect(new URL(`http://${name}`).hostname).toBe(name);
      }),
      { numRuns: 500 },
    );
  });
});
