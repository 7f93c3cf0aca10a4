/**
 * Owns the decision which addresses a name may lead to. Pure.
 *
 * - `public`: anyone can reach it. Any pattern that fits the name allows it.
 * - `private`: of a local network (10.0.0.0/8 and the like, carrier-grade NAT, IPv6 ULA). A name that leads
 *   there is reached only if a pattern names it exactly, which means that a person chose it. A wildcard or
 *   `*` does not allow it, because the owner of a domain can let a name of it lead anywhere.
 * - `never`: this machine itself, its link with the metadata services of clouds on it, and addresses that
 *   can't be connected to: multicast, documentation, benchmarks, reserved. No name leads there. Of this
 *   machine only `localhost:PORT` can be named, which is a forward and asks no resolver.
 *
 * address-1 An IPv6 address that contains an IPv4 address (mapped, NAT64, 6to4) is judged by that IPv4
 *    address.
 */
import { BlockList, isIP, SocketAddress } from "node:net";

export type AddressKind = "public" | "private" | "never";

const PRIVATE = listOf(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"]);

/** Of IPv6, only 2000::/3 is assigned: any other address that is not private is never reached. */
const GIVEN_OUT = listOf(["2000::/3"]);

const NEVER = listOf([
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // IETF protocols, Teredo among them; documentation.
  "2001::/23",
  "2001:db8::/32",
  "3fff::/20",
  // Metadata services of clouds that are not link-local.
  "100.100.100.200/32",
  "168.63.129.16/32",
  "fd00:ec2::254/128",
  "fd20:ce::254/128",
]);

const MAPPED = listOf(["::ffff:0:0/96"]);
const NAT64 = listOf(["64:ff9b::/96"]);
const SIX_TO_FOUR = listOf(["2002::/16"]);

export function addressKind(address: string): AddressKind {
  const family = isIP(address);
  // An address with a zone (fe80::1%eth0) belongs to a link.
  if (family === 0 || address.includes("%")) return "never";
  const carried = carriedAddress(address);
  if (carried !== undefined) return addressKind(carried);
  const isIn = (list: BlockList) => list.check(address, family === 4 ? "ipv4" : "ipv6");
  if (isIn(NEVER)) return "never";
  if (isIn(PRIVATE)) return "private";
  return family === 4 || isIn(GIVEN_OUT) ? "public" : "never";
}

/**
 * address-1 The IPv4 address in an IPv6 one; undefined if there is none.
 */
export function carriedAddress(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const isIn = (list: BlockList) => list.check(address, "ipv6");
  const words = wordsOf(address);
  if (isIn(MAPPED) || isIn(NAT64)) return dotted(words[6], words[7]);
  return isIn(SIX_TO_FOUR) ? dotted(words[1], words[2]) : undefined;
}

/** The eight numbers of an IPv6 address. */
function wordsOf(address: string): number[] {
  // The usual spelling: at most one `::`, and a dotted part only at the end.
  const text = new SocketAddress({ address, family: "ipv6" }).address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, ...bytes: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
      return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    },
  );
  const [head = "", tail] = text.split("::");
  const numbers = (part: string) =>
    part === "" ? [] : part.split(":").map((word) => Number.parseInt(word, 16));
  if (tail === undefined) return numbers(head);
  const [before, after] = [numbers(head), numbers(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function listOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = "", prefix] = subnet.split("/");
    // `isIP` would compile long patterns for this at every start.
    list.addSubnet(network, Number(prefix), network.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
