/**
 * Owns the passing on of one request: its body to the provider, and the answer back, byte for byte, as they come.
 *
 * V15 Nothing of a body is changed, held back or looked at. A client that hangs up ends the request at the provider; a
 *     provider that breaks off in the middle breaks off the answer. No redirect is followed.
 */
import { Agent, type IncomingMessage, request as plainRequest, type ServerResponse } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { pipeline } from "node:stream";
import { HoldfastError } from "../contract/index.ts";
import { errorCode } from "../util/index.ts";
import { answerHeaders } from "./credential.ts";

/** Providers close a connection that nothing is said on; none is used again about that time. */
const IDLE_MS = 4000;

/** One connection serves many requests, one at a time. */
export class Upstreams {
  readonly #plain = new Agent({ keepAlive: true, timeout: IDLE_MS });
  readonly #tls = new TlsAgent({ keepAlive: true, timeout: IDLE_MS });

  to(target: URL, options: { readonly method: string; readonly headers: readonly string[] }) {
    const { method, headers } = options;
    const all = { method, headers: ["host", target.host, ...headers] };
    return target.protocol === "https:"
      ? tlsRequest(target, { ...all, agent: this.#tls })
      : plainRequest(target, { ...all, agent: this.#plain });
  }
}

export interface Passing {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: URL;
  readonly headers: readonly string[];
  /** Names of headers that only we may say. */
  readonly own: readonly string[];
}

/** Resolves with the provider's status when the answer has begun; fails where none came. */
export function passOn(
  upstreams: Upstreams,
  { request, response, target, headers, own }: Passing,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const none = (error?: unknown) => reject(unreachable(target, error));
    // The client has hung up while its key was looked for.
    if (response.destroyed) return none();
    const there = upstreams.to(target, { method: request.method ?? "GET", headers });
    response.once("close", () => {
      if (!response.writableFinished) there.destroy();
    });
    there.on("response", (answer) => {
      try {
        const status = answer.statusCode ?? 502;
        response.writeHead(status, answer.statusMessage ?? "", answerHeaders(answer.rawHeaders, own));
        response.flushHeaders();
        pipeline(answer, response, () => {
          // It may have answered before it had heard all.
          request.unpipe(there);
          request.resume();
        });
        resolve(status);
      } catch (error) {
        // What can't be said again is no answer.
        there.destroy();
        none(error);
      }
    });
    // After the answer has begun, its end tells what became of it.
    there.on("error", none).once("close", none);
    if (hasBody(request)) request.pipe(there);
    else there.end();
  });
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

function unreachable({ host }: URL, error: unknown): HoldfastError {
  return new HoldfastError(
    "provider_unreachable",
    `${host} gave no answer: ${errorCode(error) ?? "it broke off"}`,
    {
      host,
    },
  );
}
