/**
 * Owns the questions to the machine about names and addresses: its resolver, and which addresses are its own.
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { type AddressKind, addressKind, carriedAddress } from "./addresses.ts";

/** All addresses of a name, in the order in which they should be tried. */
export type Resolver = (name: string) => Promise<readonly string[]>;

/**
 * How many names are looked up at the same time. The system's resolver uses the same four threads as writing
 * to disk, and a name whose server does not answer keeps its thread for half a minute.
 */
const LOOKUPS_AT_A_TIME = 2;
/** A program inside may ask faster than a resolver answers, and hang up without waiting. */
const MOST_WAITING = 256;

const waiting: (() => void)[] = [];
let underWay = 0;

/** In the same way as every other program on this machine. */
export const resolveName: Resolver = async (name) => {
  if (waiting.length >= MOST_WAITING) throw new Error("too many names are being looked up");
  if (underWay < LOOKUPS_AT_A_TIME) underWay += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return (await lookup(name, { all: true, order: "verbatim" })).map(({ address }) => address);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else underWay -= 1;
  }
};

/**
 * A public address of this machine itself counts as private: a service that listens there may trust local
 * programs.
 */
export function addressKindHere(address: string, own = ownAddresses()): AddressKind {
  const kind = addressKind(address);
  if (kind !== "public") return kind;
  const reached = carriedAddress(address) ?? address;
  const family = isIP(reached) === 4 ? "ipv4" : "ipv6";
  // An IPv6 address has several spellings.
  const list = new BlockList();
  for (const one of own) if (isIP(one)) list.addAddress(one, isIP(one) === 4 ? "ipv4" : "ipv6");
  return list.check(reached, family) ? "private" : "public";
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
}
