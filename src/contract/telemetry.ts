/**
 * Owns where a trace is sent, from OpenTelemetry's variables in the environment of the process that gives a
 * task: the address of a collector, and headers for it, which are secrets. The task's own processes get none
 * of them.
 */
import type { Values } from "./variables.ts";

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS = "OTEL_EXPORTER_OTLP_HEADERS";
const TRACES_HEADERS = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
const TIMEOUT = "OTEL_EXPORTER_OTLP_TIMEOUT";
const TRACES_TIMEOUT = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT";

/** OpenTelemetry's default timeout; we wait no longer. */
const MAX_TIMEOUT_MS = 10_000;

/** Undefined: no trace is sent. A variable that is set to nothing counts as not set. */
export function telemetryIn(env: Readonly<Record<string, string | undefined>>): Values | undefined {
  const names = [ENDPOINT, TRACES_ENDPOINT, HEADERS, TRACES_HEADERS, TIMEOUT, TRACES_TIMEOUT];
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = env[name]?.trim();
    if (value) values[name] = value;
  }
  return values[ENDPOINT] || values[TRACES_ENDPOINT] ? values : undefined;
}

export interface Collector {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/**
 * Undefined if no trace can be sent to the address: it must be http or https, without a user name or a
 * password.
 */
export function collectorOf(telemetry: Values): Collector | undefined {
  const own = telemetry[TRACES_ENDPOINT];
  const text = own ?? telemetry[ENDPOINT] ?? "";
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  // The address for all signals is a base; the one for traces is taken as it is.
  if (own === undefined) url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  const asked = Number(telemetry[TRACES_TIMEOUT] ?? telemetry[TIMEOUT]);
  const timeoutMs = asked > 0 && asked < MAX_TIMEOUT_MS ? Math.ceil(asked) : MAX_TIMEOUT_MS;
  return { url, headers: headersIn(telemetry[TRACES_HEADERS] ?? telemetry[HEADERS] ?? ""), timeoutMs };
}

/** `name=value`, separated by commas; values are encoded as in a URL. */
function headersIn(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, at)).trim().toLowerCase();
    if (name !== "") headers[name] = decoded(pair.slice(at + 1).trim());
  }
  return headers;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/**
 * The parts that must not appear in a text: headers as they are given, each as it is sent, and a token
 * without its scheme.
 */
export function telemetrySecrets(telemetry: Values): Values[] {
  return [HEADERS, TRACES_HEADERS].flatMap((name) => {
    const given = telemetry[name];
    if (given === undefined) return [];
    const sent = Object.values(headersIn(given));
    const bare = sent.map((value) => value.replace(/^(bearer|basic|token|api-?key)\s+/i, ""));
    const raw = given.split(",").map((pair) => pair.slice(pair.indexOf("=") + 1));
    return [...new Set([...sent, ...bare, ...raw])].map((value) => ({ [name]: value }));
  });
}
