/**
 * Owns how a host is named that a task may reach, in a lane, a flag or a record: pure, from text to a pattern. What a
 * pattern matches, and which addresses are reached by it, is said elsewhere.
 *
 * I4 A host pattern has one form: small ASCII letters, no dot at the end, no IP address in any of the ways in which
 *    one can be written. A name (`example.org`), all names below one (`*.example.org`), or any
 *    public host (`*`); each with a port or without. Of this machine, a port (`localhost:5432`).
 */
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";

const MAX_NAME = 253;
const MAX_PORT = 65_535;
/** With `_`, which names of services have. */
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** What ends so is read as an IPv4 address by whoever follows the URL standard: `127.1`, `0x7f000001`, `2130706433`. */
const ENDS_IN_NUMBER = /(^|\.)([0-9]+|0x[0-9a-f]*)$/;
const PORT = /^[1-9][0-9]{0,4}$/;

/** Of a text in small letters: undefined when it can be one; otherwise why it can't. */
export function whyNoHost(text: string): string | undefined {
  const { wildcard, name, port, rest } = partsOf(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every character of ASCII is allowed here.
  if (!/^[\u0000-\u007f]*$/.test(text)) return "has to be in ASCII: xn--… for a name in other letters";
  if (text.includes("/") || text.includes("@"))
    return "is to be a name and perhaps a port, not an address with a path";
  if (rest || text.includes("[") || ENDS_IN_NUMBER.test(name)) return "is to be a name, not an IP address";
  if (port !== undefined && !(PORT.test(port) && Number(port) <= MAX_PORT))
    return `has a port that is none: 1 to ${MAX_PORT}`;
  if (wildcard === "*" && name === "") return undefined;
  if (name.includes("*")) return "has a * in a place where none can be: *.example.org, or * alone";
  if (name.length > MAX_NAME || !name.split(".").every((label) => LABEL.test(label)))
    return "is not the name of a host";
  if (!/(^|\.)localhost$/.test(name)) return undefined;
  if (wildcard !== "" || name !== "localhost")
    return "is of this machine, of which only localhost:PORT can be named";
  return port === undefined ? "has to name the port of this machine: localhost:5432" : undefined;
}

/** Large letters become small ones; everything else has to be right as it stands. */
export const hostPatternSchema = z.pipe(
  z.pipe(
    z.string(),
    z.transform((text: string) => text.toLowerCase()),
  ),
  z.string().check((context) => {
    const reason = whyNoHost(context.value);
    if (reason !== undefined)
      context.issues.push({ code: "custom", message: reason, input: context.value, continue: false });
  }),
);

/**
 * So long may a list of hosts be, in JSON. A task has those of its lane and those that it was asked with, and the record
 * of both has to fit into one field (E2).
 */
const MAX_LIST_BYTES = 2000;

/** Each once, in the order in which they were named. */
export const hostListSchema = z.pipe(
  z
    .array(hostPatternSchema)
    .check(
      z.refine(
        (hosts) => JSON.stringify(hosts).length <= MAX_LIST_BYTES,
        `has more hosts than can be named: ${MAX_LIST_BYTES} characters together`,
      ),
    ),
  z.transform((hosts: string[]) => [...new Set(hosts)]),
);

export function parseHosts(hosts: readonly string[]): string[] {
  const parsed = hostListSchema.safeParse(hosts);
  if (parsed.success) return parsed.data;
  const { path = [], message } = parsed.error.issues[0] ?? {};
  const named = hosts[Number(path[0])];
  throw new HoldfastError(
    "invalid_data",
    `hosts: ${named === undefined ? "it" : JSON.stringify(named)} ${message}`,
  );
}

function partsOf(text: string) {
  const [, wildcard = "", name = "", port, rest = ""] =
    /^(\*\.|\*(?=$|:))?([^:]*)(?::([^:]*))?(.*)$/s.exec(text) ?? [];
  return { wildcard, name, port, rest };
}
