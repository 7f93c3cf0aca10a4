/**
 * Owns one question to the broker: a request on its socket, with a body that is passed on as it comes.
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
  /** Names and values in turns. */
  readonly headers: readonly string[];
  readonly body?: Readable | Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** No broker took the question up, and nothing of its body was taken: it may be asked again. */
export class Unheard extends Error {}

/**
 * Resolves when the answer begins. A body that comes in pieces waits until the broker has begun: before that, it can be
 * given to another. One that is whole goes at once, and a broker that is killed then may have passed it on. A question
 * without a body changes nothing.
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
      // We end it, when the answer has: a broker that does so before it has heard all would cut its own answer off.
      headers: ["host", "localhost", "connection", "keep-alive", ...headers, ...framing],
      agent: false,
      ...(signal && { signal }),
    });
    let mayHaveBegun = isWhole;
    request.once("response", resolve);
    // After the answer has begun, its end tells what became of it.
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
/** One was there, and is gone: what it has done is not known. */
export const isCutOff = (error: unknown) => ["ECONNRESET", "EPIPE"].includes(errorCode(error) ?? "");

/** The same failure that the broker had, if the answer says one. */
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
