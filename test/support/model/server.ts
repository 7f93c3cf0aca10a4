/**
 * A scripted model on loopback, for real agents. It keeps nothing from one request to the next: what it says is told
 * by the conversation that it is sent, so an agent that was killed, forked or started again just goes on. It answers
 * with `ANSWER-n`, n being one more than the last that stands in the request.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answer, chatCompletions, messages, responses } from "./wire.ts";

interface Request {
  readonly path: string;
  readonly body: string;
}

interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly tools?: readonly unknown[];
}

const SPEAKS: readonly [end: string, speak: typeof messages][] = [
  ["/messages", messages],
  ["/chat/completions", chatCompletions],
  ["/responses", responses],
];

export class ScriptedModel implements AsyncDisposable {
  readonly #server: Server;
  /** Those that were a turn of a conversation, in order. */
  readonly requests: Request[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(port = 0): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    model.#server.listen(port, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += chunk;
    const path = new URL(request.url ?? "/", this.url).pathname;
    const speak = SPEAKS.find(([end]) => path.endsWith(end))?.[1];
    if (request.method !== "POST" || !speak) return send(response, { json: other(path) });
    const { model = "scripted", stream = false, tools } = JSON.parse(body) as Asked;
    // Without tools it is no turn of the conversation: an agent wants a title for it, say.
    const isTurn = tools !== undefined && tools.length > 0;
    if (isTurn) this.requests.push({ path, body });
    send(response, speak(isTurn ? `ANSWER-${lastAnswer(body) + 1}` : "A title", model, stream));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** The number of the last answer that a request has; 0 where it has none. */
export function lastAnswer(body: string): number {
  return Math.max(0, ...[...body.matchAll(/ANSWER-(\d+)/g)].map(([, number]) => Number(number)));
}

function other(path: string): unknown {
  if (path.endsWith("/count_tokens")) return { input_tokens: 10 };
  if (path.endsWith("/models")) return { object: "list", data: [{ id: "scripted", object: "model" }] };
  return {};
}

function send(response: ServerResponse, answer: Answer): void {
  const isStream = "events" in answer;
  response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  response.end(isStream ? answer.events.join("") : JSON.stringify(answer.json));
}
