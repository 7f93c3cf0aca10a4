/**
 * Owns the questions to the machine about names and addresses: its resolver, and which addresses are its own.
 */
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { type AddressKind, addressKind } from "./addresses.ts";

/** All addresses of a name, in the order in which they should be tried. */
export type Resolver = (name: string) => Promise<readonly string[]>;

/**
 * How many names are looked up at the same time. The system's resolver uses the same four threads as writing
 * to disk, and a name whose server does not answer keeps its thread for half a minute.
 */
const LOOKUPS_AT_A_TIME = 2;

const waiting: (() => void)[] = [];
let underWay = 0;

/** In the same way as every other program on this machine. */
export const resolveName: Resolver = async (name) => {
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
  return kind === "public" && own.includes(address) ? "private" : kind;
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
}
