/**
 * Owns the sending of bytes as they come. A slow reader is waited for.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";

interface Part {
  readonly kind: string;
  readonly chunk?: Buffer;
}

const BYTES = { "content-type": "application/octet-stream", "cache-control": "no-store" };

export function sendFile(response: ServerResponse, bytes: Buffer): void {
  response.writeHead(200, BYTES).end(bytes);
}

/** The first part decides whether the answer is a failure. */
export async function sendBytes(
  response: ServerResponse,
  partsFor: (signal: AbortSignal) => AsyncGenerator<Part>,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const parts = partsFor(gone.signal);
  let next = await parts.next();
  response.writeHead(200, BYTES);
  for (; !next.done && !gone.signal.aborted; next = await parts.next()) {
    const { chunk } = next.value;
    if (chunk && !response.write(chunk))
      await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end();
}
