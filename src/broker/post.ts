/**
 * Owns one small HTTP request: it sends JSON and returns text. It follows no redirect.
 */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { text as textOf } from "node:stream/consumers";

/** A server that does not answer must not hold a lock forever. */
const MOST_MS = 15_000;

export async function postJson(
  url: string,
  question: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = Buffer.from(JSON.stringify(question));
  const headers = { "content-type": "application/json", "content-length": body.length };
  const send = url.startsWith("https:") ? tlsRequest : plainRequest;
  const options = { method: "POST", headers, signal: AbortSignal.timeout(MOST_MS) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    send(url, options, resolve).once("error", reject).end(body),
  );
  return { status: answer.statusCode ?? 0, text: await textOf(answer) };
}
