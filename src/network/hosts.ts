/**
 * Owns the patterns that name the hosts that a task may reach, and the one spelling of a host's name. Pure.
 *
 * A pattern is a name with an optional port (`registry.npmjs.org`, `example.org:8443`), all sub-domains of
 * one (`*.example.org`, not `example.org` itself), any public host (`*`), or a port of this machine's
 * loopback (`localhost:5432`), which needs its port. Without a port, 443 and 80 are meant.
 *
 * host-2 An address is never a name, however it is spelled: in decimal, octal or hex, with fewer parts, with
 *    a dot after it, percent-encoded, in letters that only look like digits, or as IPv6.
 * host-3 A name has one spelling. Two texts that mean the same host are the same here. A text that another
 *    program could read differently (a path, a user, white space) is not a name.
 */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { HoldfastError } from "../contract/index.ts";

export type HostPattern =
  | { readonly kind: "name" | "below"; readonly name: string; readonly ports: readonly number[] }
  | { readonly kind: "any"; readonly ports: readonly number[] }
  | { readonly kind: "loopback"; readonly port: number };

/** `named`: by its own name. `matched`: by a pattern that also matches others. */
export type Permission = "named" | "matched";

export const LOOPBACK = "localhost";
const HTTPS_PORT = 443;
const WEB_PORTS: readonly number[] = [HTTPS_PORT, 80];
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const MAX_NAME = 253;
/** Characters that a parser of URLs would read as the end of the name, or decode. */
const NOT_IN_A_NAME = /[\p{Cc}\s%/\\?#@:[\]]/u;

export function parseHost(text: string): HostPattern {
  if (/[/@]/.test(text)) throw invalid(text, "give the name alone, without https:// and without a path");
  const { host, portText } = split(text);
  const port = portText === undefined ? undefined : parsePort(portText);
  if (portText !== undefined && port === undefined) throw invalid(text, `${portText} is not a port`);
  const ports = port === undefined ? WEB_PORTS : [port];
  if (host === "*") return { kind: "any", ports };
  const isBelow = host.startsWith("*.");
  const written = isBelow ? host.slice(2) : host;
  const name = hostName(written);
  if (name === undefined) throw invalid(text, whyNoName(written));
  if (!isLoopbackName(name)) return { kind: isBelow ? "below" : "name", name, ports };
  if (name !== LOOPBACK || isBelow) throw invalid(text, "of this machine, only localhost:PORT can be named");
  if (port === undefined) throw invalid(text, "which port of this machine? Name it: localhost:5432");
  return { kind: "loopback", port };
}

/** In the one spelling, as `parseHost` reads it. */
export function hostText(pattern: HostPattern): string {
  if (pattern.kind === "loopback") return `${LOOPBACK}:${pattern.port}`;
  const host = pattern.kind === "any" ? "*" : pattern.kind === "below" ? `*.${pattern.name}` : pattern.name;
  const [port, ...more] = pattern.ports;
  return more.length > 0 ? host : `${host}:${port}`;
}

/** The pattern that would allow this host and port, as a person would write it. */
export function patternFor(name: string, port: number): string {
  return WEB_PORTS.includes(port) && !isLoopbackName(name) ? name : `${name}:${port}`;
}

/**
 * How a host may be reached through the proxy; undefined if it may not. `name` is in the spelling of
 * `hostName`. `localhost` never is: its ports are forwarded, and in the sandbox the name means the sandbox
 * itself.
 */
export function mayReach(
  patterns: readonly HostPattern[],
  name: string,
  port: number,
): Permission | undefined {
  if (hostName(name) !== name || isLoopbackName(name)) return undefined;
  const fitting = patterns.filter((one) => one.kind !== "loopback" && one.ports.includes(port));
  if (fitting.some((one) => one.kind === "name" && one.name === name)) return "named";
  const isMatched = fitting.some(
    (one) => one.kind === "any" || (one.kind === "below" && name.endsWith(`.${one.name}`)),
  );
  return isMatched ? "matched" : undefined;
}

/** Whether any of these patterns lets a task fetch from a public host. */
export function reaches(patterns: readonly string[], name: string): boolean {
  return mayReach(patterns.map(parseHost), name, HTTPS_PORT) !== undefined;
}

/**
 * host-3 The one spelling of a name; undefined for a text that is not one (host-2).
 */
export function hostName(text: string): string | undefined {
  if (NOT_IN_A_NAME.test(text)) return undefined;
  const name = domainToASCII(text).toLowerCase().replace(/\.$/, "");
  if (name.length > MAX_NAME) return undefined;
  const labels = name.split(".");
  // If the last label is a number, the whole is an address, or not valid at all.
  return labels.every((label) => LABEL.test(label)) && !/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")
    ? name
    : undefined;
}

/** Plain decimal digits, and nothing else. */
export function parsePort(text: string): number | undefined {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65_536 ? port : undefined;
}

/** Whether a text that is not a name is an address, in any spelling. */
export function isAddress(text: string): boolean {
  const bare = text.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  return isIP(bare) !== 0 || isIP(domainToASCII(text)) !== 0;
}

/** Names that mean this machine, whatever a resolver says. */
export const isLoopbackName = (name: string) => name === LOOPBACK || name.endsWith(`.${LOOPBACK}`);

function split(text: string): { readonly host: string; readonly portText: string | undefined } {
  const colon = text.lastIndexOf(":");
  // More than one colon means an IPv6 address, or a text that is not valid.
  if (colon === -1 || text.indexOf(":") !== colon) return { host: text, portText: undefined };
  return { host: text.slice(0, colon), portText: text.slice(colon + 1) };
}

function whyNoName(written: string): string {
  if (isAddress(written) || written.includes(":"))
    return "an address can't be named, because its owner can't be known";
  if (written.includes("*")) return "a * stands alone, or before a whole name: *.example.org";
  return "that is not the name of a host";
}

function invalid(text: string, why: string): HoldfastError {
  return new HoldfastError("invalid_host", `${JSON.stringify(text)} can't be a host: ${why}`, { host: text });
}
