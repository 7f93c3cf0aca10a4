/**
 * Owns the reading of a request's body: never more of it than is said, whatever it says of its own length.
 */
import type { IncomingMessage } from "node:http";
import { parseObject } from "../util/index.ts";
import { Refusal } from "./refusal.ts";

export interface BodyLimit {
  readonly maxBytes: number;
  /** What a longer one is refused with. */
  readonly code: string;
}

export async function readBody(request: IncomingMessage, { maxBytes, code }: BodyLimit): Promise<Buffer> {
  const tooLarge = () => new Refusal(413, code, `a body has ${maxBytes} bytes at most`);
  // Said before it is read: a client that is cut off while it writes hears nothing.
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function parseBody(body: Buffer): Record<string, unknown> {
  const parsed = parseObject(body.toString("utf8"));
  if (!parsed) throw new Refusal(400, "invalid_data", "the body is not a JSON object");
  return parsed;
}

/** A page of another site can send a form without asking first, but not JSON that says so. */
export function assertJson({ headers }: IncomingMessage): void {
  if (!/^application\/json\b/.test(headers["content-type"] ?? ""))
    throw new Refusal(415, "not_json", "a body is application/json");
}
