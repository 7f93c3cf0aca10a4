/**
 * Owns how an answer is sent: at once or late, in one piece or in many, whole or broken. A client that
 * disconnects ends it.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Spoken } from "./api/api.ts";

export interface Manner {
  readonly delayMs?: number;
  readonly pieces?: number;
  /** Half of it is sent; then the connection ends, or nonsense follows. */
  readonly broken?: "drop" | "malformed" | undefined;
}

/** An event that no client can read. */
const NONSENSE = 'data: {"type":"conte\n\n';

/** Long enough that each piece is read by itself. */
const BETWEEN_PIECES_MS = 10;

export async function send(response: ServerResponse, spoken: Spoken, manner: Manner): Promise<void> {
  const { delayMs = 0, pieces = 1, broken } = manner;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // The script asks for it.
  if (delayMs > 0) await setTimeout(delayMs, undefined, { signal: gone.signal });
  const isStream = "events" in spoken;
  response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  const bytes = Buffer.from(broken ? halfOf(spoken, broken) : wholeOf(spoken));
  for (const [at, piece] of cut(bytes, pieces).entries()) {
    if (at > 0) await setTimeout(BETWEEN_PIECES_MS, undefined, { signal: gone.signal });
    if (!response.write(piece)) await once(response, "drain", { signal: gone.signal });
  }
  if (broken === "drop") response.socket?.destroySoon();
  else response.end();
}

export function sendJson(
  response: ServerResponse,
  status: number,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(json));
}

function wholeOf(spoken: Spoken): string {
  return "json" in spoken ? JSON.stringify(spoken.json) : spoken.events.join("");
}

function halfOf(spoken: Spoken, broken: "drop" | "malformed"): string {
  if ("json" in spoken) return firstHalf(wholeOf(spoken));
  const { events, cutAt } = spoken;
  const next = events[cutAt] ?? "";
  return [...events.slice(0, cutAt), broken === "drop" ? firstHalf(next) : NONSENSE].join("");
}

const firstHalf = (text: string) => text.slice(0, text.length / 2);

function cut(bytes: Buffer, pieces: number): Buffer[] {
  const length = Math.max(1, Math.ceil(bytes.length / pieces));
  const count = Math.ceil(bytes.length / length);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * length, (at + 1) * length));
}
