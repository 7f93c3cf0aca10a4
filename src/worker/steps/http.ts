/**
 * Owns the step of `http_request`: one request, which the worker makes itself, to an address that was judged
 * before. No redirect is followed, and the length of the answer is limited.
 */
import { type IncomingMessage, type RequestOptions, request as sendPlain } from "node:http";
import { request as sendSecure } from "node:https";
import type { LookupFunction } from "node:net";
import { HoldfastError, type JsonObject, type Values } from "../../contract/index.ts";
import type { ToolOutcome } from "../../lane/index.ts";
import { withCredentials } from "../headers.ts";
import type { Planner } from "../plan.ts";
import { judge, portOf } from "../reach.ts";
import { Said } from "./said.ts";

export interface HttpTarget {
  readonly method: string;
  /** With its port. */
  readonly url: string;
}

const MINUTE_MS = 60_000;

export const planRequest: Planner = async ({ action, declaration }, values) => {
  const { method, url: text } = action.target as unknown as HttpTarget;
  const url = new URL(text);
  const addresses = await judge(url, declaration.hosts);
  const body = action.args["body"];
  const options = {
    method,
    headers: withCredentials(headersIn(action.args), values, declaration.env),
    lookup: only(addresses),
    agent: false as const,
  };
  const timeoutMs = declaration.timeoutMinutes * MINUTE_MS;
  return (signal) => send(url, options, typeof body === "string" ? body : undefined, { signal, timeoutMs });
};

export const headersIn = ({ headers }: JsonObject): Values => (headers ?? {}) as Values;

/** lookup-1: the name is not resolved again. */
function only(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return (_, options, done) => {
    const [first] = all;
    if (!first) done(new Error("it has no address"), "");
    else if (options.all) done(null, all);
    else done(null, first.address, first.family);
  };
}

function send(
  url: URL,
  options: RequestOptions,
  body: string | undefined,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<ToolOutcome> {
  const late = AbortSignal.timeout(timeoutMs);
  const start = url.protocol === "https:" ? sendSecure : sendPlain;
  return new Promise((resolve, reject) => {
    const request = start(url, { ...options, port: portOf(url), signal: AbortSignal.any([signal, late]) });
    request.once("response", (answer) => void read(answer).then(resolve, reject));
    request.once("error", (error) =>
      reject(new HoldfastError("tool_failed", `${url.host} did not answer: ${error.message}`)),
    );
    request.end(body);
  });
}

async function read(answer: IncomingMessage): Promise<ToolOutcome> {
  const said = new Said();
  for await (const piece of answer) {
    said.add(piece as Buffer);
    if (said.isCut) break;
  }
  answer.destroy();
  const status = answer.statusCode ?? 0;
  const type = answer.headers["content-type"] ?? "";
  const location = answer.headers.location;
  const lines = [
    `${status} ${answer.statusMessage ?? ""}`.trim(),
    ...(type ? [`content-type: ${type}`] : []),
    ...(location ? [`location: ${location} (not followed)`] : []),
    "",
    said.text,
    ...(said.isCut ? ["holdfast: the rest of the answer was too long and was left out"] : []),
  ];
  return { outcome: status >= 400 ? "error" : "ok", text: lines.join("\n").trimEnd(), facts: { status } };
}
