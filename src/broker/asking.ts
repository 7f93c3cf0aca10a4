/**
 * Owns one request to the broker, on its socket, with a body that is passed on as it comes.
 */
import { type IncomingMessage, request as send } from "node:http";
import type { Readable } from "node:stream";
import { type ErrorCode, errorCodes, HoldfastError } from "../contract/index.ts";
import { errorCode, isPlainObject, parseObject } from "../util/index.ts";
import { FAILURE } from "./wire.ts";

export interface Question {
  readonly socket: string;
  readonly method: string;
  readonly path: string;
  /** Names and values alternating. */
  readonly headers: readonly string[];
  readonly body?: Readable | Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** No broker took the request, and none of its body was read: it may be sent again. */
export class Unheard extends Error {}

/**
 * Resolves when the answer begins. A body that comes in pieces waits until the broker has accepted the
 * request; before that, the request can go to another broker. A complete body is sent at once, so a broker
 * that is killed then may have passed it on. A request without a body changes nothing.
 */
export function ask({ socket, method, path, headers, body, signal }: Question): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const isWhole = Buffer.isBuffer(body);
    const framing = isWhole
      ? ["content-length", String(body.length)]
      : body
        ? ["expect", "100-continue"]
        : [];
    const request = send({
      socketPath: socket,
      method,
      path,
      // This side closes the connection after the answer. If the broker closed it before it read everything,
      // it would cut off its own answer.
      headers: ["host", "localhost", "connection", "keep-alive", ...headers, ...framing],
      agent: false,
      ...(signal && { signal }),
    });
    let mayHaveBegun = isWhole;
    request.once("response", resolve);
    // After the answer has begun, the end of the answer reports any failure.
    request.on("error", (error) => {
      const isUnheard = mayHaveBegun ? isNobody(error) : isNobody(error) || isCutOff(error);
      reject(isUnheard ? new Unheard() : error);
    });
    if (!body || isWhole) return void request.end(body);
    request.once("continue", () => {
      mayHaveBegun = true;
      body.once("error", (error) => request.destroy(error));
      body.pipe(request);
    });
  });
}

const isNobody = (error: unknown) => ["ENOENT", "ECONNREFUSED"].includes(errorCode(error) ?? "");
/** The broker was running and ended: it is not known what it did. */
export const isCutOff = (error: unknown) => ["ECONNRESET", "EPIPE"].includes(errorCode(error) ?? "");

/** The failure that the broker reported, if it did. */
export async function failureIn(answer: IncomingMessage): Promise<HoldfastError | undefined> {
  const code = answer.headers[FAILURE];
  if (typeof code !== "string") return undefined;
  let text = "";
  for await (const chunk of answer.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  const { message, facts } = parseObject(text) ?? {};
  const known = Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : "broker_failed";
  return new HoldfastError(
    known,
    typeof message === "string" ? message : code,
    isPlainObject(facts) ? facts : {},
  );
}
