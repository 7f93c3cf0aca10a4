/**
 * Owns the form of a host that a task may reach, in a lane, an option or a record. Pure: text in, pattern
 * out. Other files decide what a pattern matches, and which addresses it reaches.
 *
 * host-1 A host pattern has one form: small ASCII letters, no dot at the end, no IP address in any of the
 *        ways in which one can be written. It is a name (`example.org`), all names below one
 *        (`*.example.org`), or any public host (`*`), each with or without a port; or a port of this machine
 *        (`localhost:5432`).
 */
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";

const MAX_NAME = 253;
const MAX_PORT = 65_535;
/** Includes `_`, which names of services have. */
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/**
 * A name with such an end is read as an IPv4 address by programs that follow the URL standard: `127.1`,
 * `0x7f000001`, `2130706433`.
 */
const ENDS_IN_NUMBER = /(^|\.)([0-9]+|0x[0-9a-f]*)$/;
const PORT = /^[1-9][0-9]{0,4}$/;

/** For a text in small letters: undefined if it is a pattern; otherwise why it is not. */
export function whyNoHost(text: string): string | undefined {
  const { wildcard, name, port, rest } = partsOf(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every character of ASCII is allowed here.
  if (!/^[\u0000-\u007f]*$/.test(text)) return "must be in ASCII: write a name in other letters as xn--…";
  if (text.includes("/") || text.includes("@"))
    return "must be a name with or without a port, not an address with a path";
  if (rest || text.includes("[") || ENDS_IN_NUMBER.test(name)) return "must be a name, not an IP address";
  if (port !== undefined && !(PORT.test(port) && Number(port) <= MAX_PORT))
    return `has a wrong port: ports are 1 to ${MAX_PORT}`;
  if (wildcard === "*" && name === "") return undefined;
  if (name.includes("*")) return "has a * in the wrong place: write *.example.org, or * alone";
  if (name.length > MAX_NAME || !name.split(".").every((label) => LABEL.test(label)))
    return "is not the name of a host";
  if (!/(^|\.)localhost$/.test(name)) return undefined;
  if (wildcard !== "" || name !== "localhost")
    return "is a name of this machine, of which only localhost:PORT is allowed";
  return port === undefined ? "must have a port of this machine, for example localhost:5432" : undefined;
}

/** Capital letters become small ones; everything else has to be right. */
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
 * How long a list of hosts may be, in JSON. A task has the hosts of its lane and those that it was given, and
 * the record of both has to fit into one field that the fold can read.
 */
const MAX_LIST_BYTES = 2000;

/** Each once, in the order in which they were named. */
export const hostListSchema = z.pipe(
  z
    .array(hostPatternSchema)
    .check(
      z.refine(
        (hosts) => JSON.stringify(hosts).length <= MAX_LIST_BYTES,
        `has too many hosts: together they may have ${MAX_LIST_BYTES} characters`,
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
