/**
 * Owns reading the head of a client's request to the proxy, strictly. Pure.
 *
 * http-1 A head has one meaning, or is refused: lines end in CRLF and in nothing else, no line is folded, and
 *    there is one length in one form. The head that a host gets is written anew from the parsed one. Its Host
 *    is the name that was checked, and it asks the host to close the connection after the answer.
 */
import { parsePort } from "./hosts.ts";

export type ProxyRequest =
  | { readonly kind: "tunnel"; readonly host: string; readonly port: number }
  | PlainRequest
  | { readonly kind: "bad"; readonly status: number; readonly sentence: string };

export interface PlainRequest {
  readonly kind: "plain";
  readonly host: string;
  readonly port: number;
  readonly line: { readonly method: string; readonly path: string; readonly version: string };
  /** Passed on as they are. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: BodyLength;
}

/** In bytes, if the head gives it. */
export type BodyLength = number | "chunked" | "none";

export const HEAD_END = "\r\n\r\n";
const MAX_FIELDS = 100;
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const REQUEST_LINE = /^([A-Z]+) ([\x21-\x7e]+) (HTTP\/1\.[01])$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const ABSOLUTE = /^http:\/\/([^/?#@]*)(\/[^#]*|\?[^#]*)?$/i;
/** Only between a client and its proxy, or written anew by us. */
const OWN_FIELDS = new Set([
  "host",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "content-length",
  "transfer-encoding",
]);

/** `head` is latin1, without the empty line that ends it. */
export function parseRequest(head: string): ProxyRequest {
  const [line = "", ...fieldLines] = head.split("\r\n");
  const [, method = "", target = "", version = ""] = REQUEST_LINE.exec(line) ?? [];
  if (method === "") return bad(400, "the request line is not understood");
  if (fieldLines.length > MAX_FIELDS) return bad(431, "the request has too many fields");
  const fields: [string, string][] = [];
  for (const one of fieldLines) {
    const [, name, value] = FIELD.exec(one) ?? [];
    if (name === undefined || value === undefined)
      return bad(400, "a field of the request is not understood");
    fields.push([name, value.trim()]);
  }
  if (method === "CONNECT") return tunnelTo(target);
  if (!METHODS.has(method)) return bad(405, `the proxy carries no ${method.slice(0, 20)}`);
  return plainRequest({ method, target, version }, fields);
}

/** The head that the host gets. `authority` is the name that was checked, with its port. */
export function headFor({ line, fields, body }: PlainRequest, authority: string): string {
  const framing =
    body === "none"
      ? []
      : [body === "chunked" ? ["Transfer-Encoding", "chunked"] : ["Content-Length", String(body)]];
  const all = [["Host", authority], ...fields, ...framing, ["Connection", "close"]];
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  return `${[`${line.method} ${line.path} ${line.version}`, ...lines].join("\r\n")}${HEAD_END}`;
}

function tunnelTo(target: string): ProxyRequest {
  const [, host, portText = ""] = /^(.+):([^:]*)$/.exec(target) ?? [];
  const port = parsePort(portText);
  if (host === undefined || port === undefined) return bad(400, "CONNECT needs a host and a port");
  return { kind: "tunnel", host, port };
}

function plainRequest(
  { method, target, version }: Readonly<Record<"method" | "target" | "version", string>>,
  fields: readonly (readonly [string, string])[],
): ProxyRequest {
  const [, authority = "", rest = "/"] = ABSOLUTE.exec(target) ?? [];
  const [, host = "", portText] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority) ?? [];
  const port = portText === undefined ? 80 : parsePort(portText);
  if (host === "" || port === undefined) return bad(400, "the proxy takes http://HOST/ and CONNECT");
  const body = bodyLength(fields, version);
  if (body === undefined) return bad(400, "the length of the body is not known");
  if (valuesOf(fields, "host").length > 1) return bad(400, "the request names two hosts");
  const path = rest.startsWith("?") ? `/${rest}` : rest;
  const listed = new Set(
    valuesOf(fields, "connection").flatMap((value) =>
      value.split(",").map((name) => name.trim().toLowerCase()),
    ),
  );
  const kept = fields.filter(([name]) => {
    const known = name.toLowerCase();
    return !OWN_FIELDS.has(known) && !known.startsWith("proxy-") && !listed.has(known);
  });
  return { kind: "plain", host, port, line: { method, path, version }, fields: kept, body };
}

/** Undefined if two programs could read it differently. */
function bodyLength(fields: readonly (readonly [string, string])[], version: string): BodyLength | undefined {
  const lengths = valuesOf(fields, "content-length");
  const encodings = valuesOf(fields, "transfer-encoding");
  if (lengths.length + encodings.length > 1) return undefined;
  const [length] = lengths;
  const [encoding] = encodings;
  if (encoding !== undefined)
    return encoding.toLowerCase() === "chunked" && version === "HTTP/1.1" ? "chunked" : undefined;
  if (length === undefined) return "none";
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function valuesOf(fields: readonly (readonly [string, string])[], wanted: string): string[] {
  return fields.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []));
}

function bad(status: number, sentence: string): ProxyRequest {
  return { kind: "bad", status, sentence };
}
