/**
 * Owns the scripted model: a server on loopback that has the APIs of model providers and answers as its
 * scripts tell it. It keeps nothing from one request to the next except what it was asked, for a test to
 * read, and how often it has failed: a fault that happens a number of times is counted per step and per
 * user's text that chose the script. Conversations that began with the same text share that count, and
 * nothing else.
 */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { type Due, dueIn, plainAnswer, sideAnswer, stepAnswer } from "./answer.ts";
import type { Api, Asked, Usage } from "./api/api.ts";
import { apiAt } from "./api/apis.ts";
import { listingAt } from "./listing.ts";
import { type Scripts, usageOfScript } from "./script.ts";
import { send, sendJson } from "./send.ts";

/** What the model was asked. */
export interface ModelRequest {
  /** Undefined for requests that are not about a conversation: lists of models, counts of tokens. */
  readonly api: Api["name"] | undefined;
  /** The method of the request. */
  readonly method: string;
  /** The path of the request. */
  readonly path: string;
  /** The headers of the request. */
  readonly headers: IncomingHttpHeaders;
  /** The body of the request, as text. */
  readonly body: string;
  /** A request without tools is a side call, for example for a title. */
  readonly isTurn: boolean;
  /** The step that it was due for. */
  readonly step: { readonly script: string; readonly number: number } | undefined;
}

/** How a scripted model is started. */
export interface ScriptedModelOptions {
  /** Each is chosen by `[[its name]]` in a user's text. */
  readonly scripts?: Scripts;
  /** Any free port, if it is left out. */
  readonly port?: number;
}

/** A model that runs. It ends when it is disposed of. */
export class ScriptedModel implements AsyncDisposable {
  readonly #scripts: Scripts;
  readonly #server: Server;
  readonly #failures = new Map<string, number>();
  /** In the order in which they came. */
  readonly requests: ModelRequest[] = [];

  private constructor(scripts: Scripts) {
    this.#scripts = scripts;
    this.#server = createServer((request, response) => {
      // A client that disconnected.
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  static async start({ scripts = {}, port = 0 }: ScriptedModelOptions = {}): Promise<ScriptedModel> {
    const model = new ScriptedModel(scripts);
    model.#server.listen(port, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  /**
   * For agents that expect a version in the address, `/v1` may follow: the end of a path tells which API is
   * meant.
   */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What a script uses when each of its steps is given once. */
  usageOf(name: string): Usage {
    return usageOfScript(this.#scripts[name] ?? []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.setEncoding("utf8");
    let body = "";
    for await (const text of request) body += text;
    const path = new URL(request.url ?? "/", this.url).pathname;
    const { method = "GET", headers } = request;
    const api = method === "POST" ? apiAt(path) : undefined;
    const asked = api && read(api, body, path);
    const isTurn = (asked?.tools.length ?? 0) > 0;
    const due = asked && isTurn ? dueIn(asked, this.#scripts) : undefined;
    const step = due && { script: due.place.name, number: due.place.step };
    this.requests.push({ api: api?.name, method, path, headers, body, isTurn, step });
    if (!api) {
      const listing = listingAt(path);
      return sendJson(response, listing ? 200 : 404, listing ?? { error: { message: `no ${path} here` } });
    }
    if (!asked) return sendJson(response, 400, api.refusal(400, "the body is not JSON"));
    if (due) return this.#give(response, api, asked, due);
    const answer = isTurn ? plainAnswer(body) : sideAnswer(asked);
    await send(response, api.speak(answer, asked), {});
  }

  async #give(response: ServerResponse, api: Api, asked: Asked, due: Due): Promise<void> {
    const { step } = due;
    const isFailing = this.#fails(due);
    if (isFailing && step.fault === "hang") return;
    if (isFailing && step.fault === "error") {
      const { status, headers, body = api.refusal(status, `scripted failure ${status}`) } = step;
      return sendJson(response, status, body, headers);
    }
    const broken =
      isFailing && (step.fault === "drop" || step.fault === "malformed") ? step.fault : undefined;
    const { delayMs = 0, pieces = 1 } = step;
    await send(response, api.speak(stepAnswer(due, asked), asked), { delayMs, pieces, broken });
  }

  /** Whether the step fails this time; counts it. */
  #fails({ place, step }: Due): boolean {
    if (!step.fault) return false;
    const { times = 1 } = step;
    const key = JSON.stringify([place.name, place.step, place.chosenBy]);
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return times === "always" || failures < times;
  }
}

function read(api: Api, body: string, path: string): Asked | undefined {
  try {
    return api.read(body, path);
  } catch {
    return undefined;
  }
}
