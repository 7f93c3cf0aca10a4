/**
 * Owns what is asked of a request before anybody looks at what it wants: where it thinks it is, who sent it, how
 * long it is and what it is made of.
 */
import type { IncomingMessage } from "node:http";
import { parseObject } from "../util/index.ts";

/** An answer that is not the one that was hoped for. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const MAX_BODY_BYTES = 1024 * 1024;
const LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/** A page of somebody else's that a browser has open must not be able to speak to us, under whatever name. */
export function assertLocal(request: IncomingMessage, port: number | null): void {
  const { host, origin } = request.headers;
  const names = LOCAL_NAMES.map((name) => (port === null ? name : `${name}:${port}`));
  if (host === undefined || !names.includes(host.toLowerCase()))
    throw new Refusal(403, "foreign_host", "the Host header does not name this server");
  if (origin !== undefined && !names.some((name) => origin.toLowerCase() === `http://${name}`))
    throw new Refusal(403, "foreign_origin", "requests from other origins are refused");
}

/** A cookie would be sent by any page; a header is not. */
export function bearer({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
}

export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const length = Number(request.headers["content-length"] ?? 0);
  if (length > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  if (bytes === 0) return {};
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? ""))
    throw new Refusal(415, "not_json", "a body is application/json");
  const body = parseObject(Buffer.concat(chunks).toString("utf8"));
  if (!body) throw new Refusal(400, "invalid_data", "the body is not a JSON object");
  return body;
}

function tooLarge(): Refusal {
  return new Refusal(413, "body_too_large", `a body has ${MAX_BODY_BYTES} bytes at most`);
}
