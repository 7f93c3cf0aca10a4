/**
 * Owns which hosts an action may reach. If its tool names hosts, only those. If it names none, only the host
 * of the action's target, on its port, and only if that is public: a name that leads into a private network
 * or to this machine has to be named by the tool.
 */

import { HoldfastError } from "../contract/index.ts";
import { Gate, isLoopbackName, parseHost, type RefusedHost, type Resolver } from "../network/index.ts";

/** The host patterns, and whether they may lead into a private network. */
export interface Reach {
  readonly hosts: readonly string[];
  readonly mayBePrivate?: boolean;
}

const LOOPBACKS: readonly string[] = ["127.0.0.1", "[::1]", "::1"];

export const isLoopback = (host: string) => LOOPBACKS.includes(host) || isLoopbackName(host);

export function portOf({ port, protocol }: Pick<URL, "port" | "protocol">): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** `declared`: the hosts of the tool. Fails with `invalid_host`. */
export function reachOf(declared: readonly string[], target?: URL): Reach {
  if (declared.length > 0 || !target) return { hosts: declared };
  if (isLoopback(target.hostname)) return { hosts: [] };
  const host = `${target.hostname}:${portOf(target)}`;
  // An IP address is not a name; that is reported before anything is spent.
  parseHost(host);
  return { hosts: [host], mayBePrivate: false };
}

/** The addresses of the target. Connections go only to these. Fails with `tool_failed`. */
export async function judge(
  target: URL,
  declared: readonly string[],
  resolve?: Resolver,
): Promise<readonly string[]> {
  const port = portOf(target);
  if (isLoopback(target.hostname)) {
    if (declared.includes(`localhost:${port}`)) return ["127.0.0.1", "::1"];
    throw refused(`${target.host} is this machine: ${allowing(`localhost:${port}`)} allows it`);
  }
  const { hosts, mayBePrivate } = reachOf(declared, target);
  const gate = new Gate({
    hosts: hosts.map(parseHost),
    allowing,
    mayBePrivate,
    ...(resolve && { resolve }),
  });
  const judgement = await gate.judge(target.hostname, port);
  if (judgement.kind === "refused") throw refused(judgement.refusal.sentence);
  if (judgement.kind === "unresolved") throw refused(judgement.sentence);
  return judgement.addresses;
}

export const allowing = (host: string) => `hosts: [${host}] of the tool in holdfast.yaml`;

export const refusalLine = ({ sentence }: RefusedHost) => `holdfast: ${sentence}\n`;

const refused = (why: string) => new HoldfastError("tool_failed", `the target can't be reached: ${why}`);
