/**
 * Owns forwarding one request: its body to the provider, and the answer back, byte for byte, as they come.
 *
 * forward-1 Bodies are not changed, held back or read, apart from forward-2. A client that hangs up ends the request
 *    at the provider; a provider that breaks off breaks off the answer. No redirect is followed.
 * forward-2 An answer that reports an error does not show the credential. The headers of no answer do.
 */
import { Agent, type IncomingMessage, request as plainRequest, type ServerResponse } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { pipeline } from "node:stream";
import { HoldfastError } from "../contract/index.ts";
import { errorCode } from "../util/index.ts";
import { covered, covering } from "./covering.ts";
import { answerHeaders } from "./credential.ts";

/** Providers close idle connections. One that has been idle for about that long is not used again. */
const IDLE_MS = 4000;

/** Keeps connections to providers open for later requests; each carries one request at a time. */
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
  /** Names of headers that only the broker may set. */
  readonly own: readonly string[];
  /** What the request carries to open the provider. */
  readonly secret?: string | undefined;
}

/** A status from this one on reports an error. */
const FAILED = 400;

/** Resolves with the provider's status when the answer has begun; fails when there is none. */
export function passOn(
  upstreams: Upstreams,
  { request, response, target, headers, own, secret }: Passing,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const none = (error?: unknown) => reject(unreachable(target, error));
    // The client has hung up while its key was looked up.
    if (response.destroyed) return none();
    const there = upstreams.to(target, { method: request.method ?? "GET", headers });
    response.once("close", () => {
      if (!response.writableFinished) there.destroy();
    });
    there.on("response", (answer) => {
      try {
        const status = answer.statusCode ?? 502;
        const said = (text: string) => (secret === undefined ? text : covered(text, secret));
        const all = answerHeaders(answer.rawHeaders, own).map(said);
        response.writeHead(status, said(answer.statusMessage ?? ""), all);
        response.flushHeaders();
        const over = () => {
          // The provider may have answered before it read everything.
          request.unpipe(there);
          request.resume();
        };
        if (secret === undefined || status < FAILED) pipeline(answer, response, over);
        else pipeline(answer, covering(secret), response, over);
        resolve(status);
      } catch (error) {
        // An answer that can't be passed on counts as none.
        there.destroy();
        none(error);
      }
    });
    // After the answer has begun, the end of the answer reports any failure.
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
    `${host} did not answer: ${errorCode(error) ?? "the connection broke off"}`,
    {
      host,
    },
  );
}
