/**
 * Owns what an agent can ask its session at the door: to read its messages, and to send some.
 * docs/protocol.md describes it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Message } from "../agent/index.ts";
import { notFound, parseBody, Refusal, type Route, readBody, reply } from "../http/index.ts";
import { MAX_MESSAGE_BYTES } from "../mail/index.ts";
import type { Offer } from "../mcp/index.ts";

export interface DoorHandler {
  token(): Promise<string | undefined>;
  /** The oldest unread message; waits for one at most this long. */
  nextMessage(waitMs: number, gone: AbortSignal): Promise<Message | undefined>;
  entered(message: string): Promise<void>;
  send(to: string, text: string): Promise<string>;
  /** An MCP client. Fails if no task is under way. */
  tools(call: DoorCall, offer: Offer): Promise<void>;
  refused(): void;
}

/** A message in JSON, including escapes. */
const BODY_LIMIT = { maxBytes: 2 * MAX_MESSAGE_BYTES, code: "message_too_large" };
const MAX_WAIT_MS = 60_000;

export interface DoorCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
}

export function doorRoutes(handler: DoorHandler): readonly Route<DoorCall>[] {
  return [
    {
      method: "GET",
      path: "/v1/inbox",
      answer: async ({ url, response }) => {
        const seconds = Number(url.searchParams.get("wait") ?? 0);
        const waitMs = Number.isFinite(seconds) ? Math.min(Math.max(0, seconds * 1000), MAX_WAIT_MS) : 0;
        const gone = new AbortController();
        response.once("close", () => gone.abort());
        const message = await handler.nextMessage(waitMs, gone.signal);
        if (!message) response.writeHead(204).end();
        return message;
      },
    },
    {
      method: "POST",
      path: "/v1/inbox/:message/entered",
      answer: async ({ params: { message = "" } }) => {
        if (!/^[a-z0-9_]+$/.test(message)) throw notFound();
        await handler.entered(message);
        return { message };
      },
    },
    {
      method: "POST",
      path: "/v1/outbox",
      answer: async ({ request, response }) => {
        const { to, text } = parseBody(await readBody(request, BODY_LIMIT));
        if (typeof to !== "string" || typeof text !== "string")
          throw new Refusal(400, "invalid_data", "the body needs the fields to and text");
        reply(response, 202, { message: await handler.send(to, text) });
        return undefined;
      },
    },
  ];
}
