/**
 * Owns whether a provider's answer reports a reached usage limit, and until when. That is an answer with
 * status 429 that names the time of its reset. A reset within a minute is a rate limit, which agents wait for
 * by themselves.
 */
import { parseJson } from "./event-stream.ts";
import { fieldsIn } from "./reading.ts";

export interface ProviderAnswer {
  readonly status: number;
  /** With lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

const TOO_MANY = 429;
const SECOND_MS = 1000;
const SHORTEST_MS = 60 * SECOND_MS;
/** A later reset is not plausible. */
const LONGEST_MS = 366 * 24 * 60 * 60 * SECOND_MS;

/** The time of the reset, in the form of records; undefined when the agent has to handle the answer. */
export function usageLimitOf({ status, headers, body }: ProviderAnswer, nowMs: number): string | undefined {
  if (status !== TOO_MANY) return undefined;
  const resets = [
    subscriptionReset(headers),
    ...resetsIn(body, nowMs),
    retryAt(headers["retry-after"], nowMs),
  ];
  const untilMs = resets.find(
    (ms) => ms !== undefined && ms - nowMs >= SHORTEST_MS && ms - nowMs <= LONGEST_MS,
  );
  return untilMs === undefined ? undefined : new Date(untilMs).toISOString();
}

/**
 * Anthropic's subscriptions report it in seconds since 1970, in all of their answers. It is the limit that was reached
 * only if the status says so; an answer may be refused for another, shorter limit.
 */
function subscriptionReset(headers: ProviderAnswer["headers"]): number | undefined {
  const status = headers["anthropic-ratelimit-unified-status"];
  if (status !== undefined && status !== "rejected") return undefined;
  return secondsIn(headers["anthropic-ratelimit-unified-reset"]);
}

/** As OpenAI reports it for subscriptions (`resets_at`, `resets_in_seconds`), and Gemini (`retryDelay`). */
function resetsIn(body: string, nowMs: number): (number | undefined)[] {
  const error = fieldsIn(fieldsIn(parseJson(Buffer.from(body)))["error"]);
  const details = Array.isArray(error["details"]) ? error["details"] : [];
  const delays = [error["resets_in_seconds"], ...details.map((one) => fieldsIn(one)["retryDelay"])];
  return [secondsIn(error["resets_at"]), ...delays.map((delay) => laterBy(secondsIn(delay), nowMs))];
}

/** A number of seconds from now, or a date. */
function retryAt(value: unknown, nowMs: number): number | undefined {
  return laterBy(secondsIn(value), nowMs) ?? (Date.parse(String(value)) || undefined);
}

const laterBy = (delayMs: number | undefined, nowMs: number) =>
  delayMs === undefined ? undefined : nowMs + delayMs;

/** A number, or a text like "12.5" or "12.5s", in milliseconds. */
function secondsIn(value: unknown): number | undefined {
  const [, seconds] = /^(\d{1,12}(?:\.\d+)?)s?$/.exec(String(value)) ?? [];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * SECOND_MS);
}
