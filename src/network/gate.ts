/**
 * Owns the decision whether a connection may leave the sandbox, and where it may lead.
 *
 * lookup-1 A name is looked up only after a pattern allowed it, and once for each connection. All of its
 *    addresses are judged, and only judged addresses are connected to. One bad address refuses the name.
 */
import { errorCode } from "../util/index.ts";
import type { AddressKind } from "./addresses.ts";
import { Contacts } from "./contacts.ts";
import {
  type HostPattern,
  hostName,
  hostText,
  isAddress,
  isLoopbackName,
  mayReach,
  type Permission,
  patternFor,
} from "./hosts.ts";
import { addressKindHere, type Resolver, resolveName } from "./resolving.ts";

export interface GateOptions {
  readonly hosts: readonly HostPattern[];
  /** Counts every connection. */
  readonly contacts?: Contacts | undefined;
  /** Called once for every host and port that is refused. */
  readonly onRefused?: ((refusal: RefusedHost) => void) | undefined;
  /** How a person can allow a host, in words. Default: the flag of `run`. */
  readonly allowing?: ((host: string) => string) | undefined;
  /** Default: the machine's own. */
  readonly resolve?: Resolver | undefined;
  /** Whether a name may lead into a private network if it is named itself. Default: it may. */
  readonly mayBePrivate?: boolean | undefined;
  /** Default: `addressKindHere`. */
  readonly kindOf?: ((address: string) => AddressKind) | undefined;
}

/**
 * `unnamed`: no pattern fits. `address`: the request does not contain a name. `private`: it leads into a
 * local network, and was not named itself. `never`: it leads to this machine, or to no usable address.
 */
export interface RefusedHost {
  readonly host: string;
  readonly port: number;
  readonly reason: "unnamed" | "address" | "private" | "never";
  /** For a person, and for programs that show the proxy's answer. */
  readonly sentence: string;
}

export type Judgement =
  | {
      readonly kind: "admitted";
      readonly name: string;
      readonly port: number;
      readonly addresses: readonly string[];
    }
  | { readonly kind: "refused"; readonly refusal: RefusedHost }
  | { readonly kind: "unresolved"; readonly sentence: string };

/** At most this many hosts and ports are reported for a task. */
const MAX_TOLD = 100;

export class Gate {
  readonly #options: GateOptions;
  readonly #hosts: HostPattern[];
  readonly #contacts: Contacts;
  readonly #told = new Set<string>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#hosts = [...options.hosts];
    this.#contacts = options.contacts ?? new Contacts();
  }

  allow(pattern: HostPattern): void {
    if (!this.#hosts.some((one) => hostText(one) === hostText(pattern))) this.#hosts.push(pattern);
  }

  /** `host` is as the client wrote it. */
  async judge(host: string, port: number): Promise<Judgement> {
    const name = hostName(host);
    if (name === undefined) return this.#refuse(host.slice(0, 100), port, "address");
    const permission = mayReach(this.#hosts, name, port);
    if (permission === undefined) return this.#refuse(name, port, "unnamed");
    const { resolve = resolveName } = this.#options;
    try {
      const addresses = await resolve(name);
      return this.#judged(name, port, permission, addresses);
    } catch (error) {
      return { kind: "unresolved", sentence: `${name} has no address (${errorCode(error) ?? "no answer"})` };
    }
  }

  /** Counts a connection to a port of this machine's loopback that was named. */
  countForward(port: number): void {
    this.#contacts.add("allowed", hostText({ kind: "loopback", port }));
  }

  #judged(name: string, port: number, permission: Permission, addresses: readonly string[]): Judgement {
    const { kindOf = addressKindHere, mayBePrivate = true } = this.#options;
    const isNamed = permission === "named" && mayBePrivate;
    const kinds = addresses.map((address) => kindOf(address));
    if (kinds.length === 0) return { kind: "unresolved", sentence: `${name} has no address` };
    if (kinds.includes("never")) return this.#refuse(name, port, "never");
    if (kinds.includes("private") && !isNamed) return this.#refuse(name, port, "private");
    this.#contacts.add("allowed", patternFor(name, port));
    return { kind: "admitted", name, port, addresses };
  }

  #refuse(host: string, port: number, reason: RefusedHost["reason"]): Judgement {
    const { allowing = (one: string) => `holdfast run --host ${one}` } = this.#options;
    const refusal = { host, port, reason, sentence: sentenceOf({ host, port, reason }, allowing) };
    const at = patternFor(host, port);
    this.#contacts.add("refused", at);
    if (!this.#told.has(at) && this.#told.size < MAX_TOLD) {
      this.#told.add(at);
      this.#options.onRefused?.(refusal);
    }
    return { kind: "refused", refusal };
  }
}

/** One line of plain ASCII, because it is also the reason phrase of an answer. */
function sentenceOf(
  { host, port, reason }: Omit<RefusedHost, "sentence">,
  by: (host: string) => string,
): string {
  const at = patternFor(host, port);
  const here = hostText({ kind: "loopback", port });
  switch (reason) {
    case "unnamed":
      if (isLoopbackName(host))
        return `${at} is the sandbox itself, which needs no proxy; to reach that port of this machine: ${by(here)}`;
      return `${at} is not among the hosts that this task may reach; ${by(at)} allows it`;
    case "private":
      return `${at} is in a private network: name it exactly, for example with ${by(at)}`;
    case "never":
      return `${at} leads to this machine or its local link; to reach that port of this machine: ${by(here)}`;
    case "address":
      return isAddress(host)
        ? `${host} is an address, and hosts are allowed by name; ${by("NAME")} does`
        : `${host} is not the name of a host`;
  }
}
