/**
 * Owns the reading of what a URL asks for, and the sending of bytes as they come.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Refusal } from "../http/index.ts";
import type { Call } from "./api-route.ts";

type Asked = Pick<Call, "url">;

export const textsIn = ({ url }: Asked, name: string) => url.searchParams.getAll(name);

export function countIn({ url }: Asked, name: string): number | undefined {
  const text = url.searchParams.get(name);
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new Refusal(400, "invalid_data", `${name}: a whole number above 0 is needed`);
  return Number(text);
}

export function flagIn({ url }: Asked, name: string): boolean {
  const text = url.searchParams.get(name) ?? "false";
  if (text !== "true" && text !== "false")
    throw new Refusal(400, "invalid_data", `${name}: true or false is needed`);
  return text === "true";
}

interface Part {
  readonly kind: string;
  readonly chunk?: Buffer;
}

/** The first part decides whether there is an answer at all. A slow reader is waited for. */
export async function sendBytes(
  response: ServerResponse,
  partsFor: (signal: AbortSignal) => AsyncGenerator<Part>,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const parts = partsFor(gone.signal);
  let next = await parts.next();
  response.writeHead(200, { "content-type": "application/octet-stream", "cache-control": "no-store" });
  for (; !next.done && !gone.signal.aborted; next = await parts.next()) {
    const { chunk } = next.value;
    if (chunk && !response.write(chunk))
      await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end();
}
