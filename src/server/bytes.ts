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

/** The first part decides whether the answer is a failure. When the client hangs up, the parts are left. */
export async function sendBytes(
  response: ServerResponse,
  partsFor: (signal: AbortSignal) => AsyncGenerator<Part>,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  for await (const { chunk } of partsFor(gone.signal)) {
    if (!response.headersSent) response.writeHead(200, BYTES);
    if (chunk) await writeTo(response, chunk);
    if (gone.signal.aborted) return;
  }
  if (!response.headersSent) response.writeHead(200, BYTES);
  response.end();
}

/** Resolves when the client can take more, or is gone. */
export async function writeTo(response: ServerResponse, chunk: Buffer | string): Promise<void> {
  if (response.destroyed || response.write(chunk)) return;
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  // Otherwise each wait would leave a listener.
  settled.abort();
}
