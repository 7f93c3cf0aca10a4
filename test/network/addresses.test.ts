/**
 * Which addresses are public: the edges of every range, and IPv4 inside of IPv6.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressKind } from "../../src/network/addresses.ts";

const octet = fc.integer({ min: 0, max: 255 });
const address = fc.tuple(octet, octet, octet, octet);
const hex = ([a, b, c, d]: readonly [number, number, number, number]) =>
  `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;

describe("addresses", () => {
  it("are public up to the edges of the ranges that are not", () => {
    for (const one of ["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"])
      expect(addressKind(one), one).toBe("public");
    for (const one of ["126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255"])
      expect(addressKind(one), one).toBe("public");
    for (const one of ["172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0"])
      expect(addressKind(one), one).toBe("public");
    for (const one of ["223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1", "2001:200::1"])
      expect(addressKind(one), one).toBe("public");
  });

  it("of local networks are private", () => {
    for (const one of ["10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"])
      expect(addressKind(one), one).toBe("private");
    for (const one of ["100.64.0.0", "100.127.255.255", "fc00::1", "fdff:ffff::1"])
      expect(addressKind(one), one).toBe("private");
  });

  it("of this machine, its link, metadata services and reserved ranges are never reached", () => {
    const never = [
      "0.0.0.0",
      "0.1.2.3",
      "127.0.0.1",
      "127.255.255.255",
      "169.254.169.254",
      "192.0.0.192",
      "192.0.2.1",
      "192.88.99.1",
      "198.18.0.0",
      "198.19.255.255",
      "198.51.100.1",
      "203.0.113.1",
      "224.0.0.1",
      "239.255.255.255",
      "240.0.0.1",
      "255.255.255.255",
      "100.100.100.200",
      "168.63.129.16",
      "::",
      "::1",
      "::7f00:1",
      "fe80::1",
      "febf::1",
      "fe80::1%eth0",
      "fec0::1",
      "ff02::1",
      "100::1",
      "2001::1",
      "2001:db8::1",
      "3fff::1",
      "64:ff9b:1::1",
      "5f00::1",
      "fd00:ec2::254",
      "fd20:ce::254",
    ];
    for (const one of never) expect(addressKind(one), one).toBe("never");
    for (const one of ["", "example.org", "1.2.3", "0x7f.1", "1.2.3.4:80", "[::1]"])
      expect(addressKind(one), one).toBe("never");
  });

  it("address-1 an IPv6 address that contains an IPv4 address is judged by that one", () => {
    fc.assert(
      fc.property(address, (bytes) => {
        const kind = addressKind(bytes.join("."));
        expect(addressKind(`::ffff:${bytes.join(".")}`)).toBe(kind);
        expect(addressKind(`::ffff:${hex(bytes)}`)).toBe(kind);
        expect(addressKind(`0:0:0:0:0:FFFF:${hex(bytes)}`)).toBe(kind);
        expect(addressKind(`64:ff9b::${hex(bytes)}`)).toBe(kind);
        expect(addressKind(`2002:${hex(bytes)}::1`)).toBe(kind);
      }),
      { examples: [[[169, 254, 169, 254]], [[127, 0, 0, 1]], [[10, 0, 0, 1]], [[0, 0, 0, 0]]] },
    );
  });

  it("an IPv6 address has the same kind in upper case and in lower case", () => {
    fc.assert(
      fc.property(fc.ipV6(), (one) => {
        expect(addressKind(one)).toBe(addressKind(one.toUpperCase()));
      }),
    );
  });
});
