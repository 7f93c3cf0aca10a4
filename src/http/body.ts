/**
 * Owns reading a request's body: never more than the limit, whatever length the request names.
 */
import type { IncomingMessage } from "node:http";
import { parseObject } from "../util/index.ts";
import { Refusal } from "./refusal.ts";

export interface BodyLimit {
  readonly maxBytes: number;
  /** The code of the refusal for a longer body. */
  readonly code: string;
}

export async function readBody(request: IncomingMessage, { maxBytes, code }: BodyLimit): Promise<Buffer> {
  const tooLarge = () => new Refusal(413, code, `the body is longer than ${maxBytes} bytes`);
  // Answered before the body is read: a client that is cut off while it writes would not read the answer.
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

/** A page of another site can send a form without asking first, but not with the content type of JSON. */
export function assertJson({ headers }: IncomingMessage): void {
  if (!/^application\/json\b/.test(headers["content-type"] ?? ""))
    throw new Refusal(415, "not_json", "send the body as content-type: application/json");
}
