/**
 * Owns how an answer is written: JSON on one line, which no cache stores and no browser takes for another
 * type.
 */
import type { ServerResponse } from "node:http";

export function reply(response: ServerResponse, status: number, body: object): void {
  const headers = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  response.writeHead(status, headers).end(`${JSON.stringify(body)}\n`);
}
