/**
 * Owns what a credential is, and how a request carries one: the agent's own, a dummy, is removed, and the
 * real one is added in the form that the API requires. Headers that apply to one connection only are removed
 * too. Pure.
 */
import type { Api } from "../config/index.ts";
import { FAILURE, LOGIN_DIR } from "./wire.ts";

/** Where a credential came from. */
export type KeySource = "command" | "file" | "environment" | "login";

export interface Credential {
  /** `token`: a key that is sent as a bearer token. `login`: the token of an agent's own login. */
  readonly form: "key" | "token" | "login";
  readonly value: string;
  readonly source: KeySource;
}

/** Names and values alternating, as Node has them. */
export type RawHeaders = readonly string[];

/** Without it, Anthropic accepts no token of a login. */
const OAUTH_BETA = "oauth-2025-04-20";
const BETA = "anthropic-beta";

const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
const OF_THE_AGENT = [
  "host",
  "expect",
  "authorization",
  "x-api-key",
  "x-goog-api-key",
  "api-key",
  "cookie",
  // Some servers accept another method in these than the one that was checked.
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  // Words of ours.
  FAILURE,
  LOGIN_DIR,
];

/** The headers for the provider. A provider that needs no key gets no credential. */
export function requestHeaders(api: Api, raw: RawHeaders, credential: Credential | undefined): string[] {
  const kept = without(raw, [...HOP_BY_HOP, ...OF_THE_AGENT]);
  if (!credential) return kept;
  const { form, value } = credential;
  if (api === "gemini" && form !== "token") return [...kept, "x-goog-api-key", value];
  if (api === "anthropic" && form === "key") return [...kept, "x-api-key", value];
  const bearer = ["authorization", `Bearer ${value}`];
  return form === "login" ? [...withOauthBeta(kept), ...bearer] : [...kept, ...bearer];
}

/** The headers of the answer. `own` are names that only the broker may set. */
export function answerHeaders(raw: RawHeaders, own: readonly string[]): string[] {
  return without(raw, [...HOP_BY_HOP, ...own]);
}

function withOauthBeta(headers: readonly string[]): string[] {
  const said = pairs(headers)
    .filter(([name]) => name.toLowerCase() === BETA)
    .flatMap(([, value]) => value.split(",").map((one) => one.trim()));
  const all = new Set([...said.filter((one) => one !== ""), OAUTH_BETA]);
  return [...without(headers, [BETA]), BETA, [...all].join(",")];
}

function without(raw: RawHeaders, names: readonly string[]): string[] {
  const listed = pairs(raw)
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  const dropped = new Set([...names, ...listed]);
  return pairs(raw).flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
}

function pairs(raw: RawHeaders): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? "", raw[2 * at + 1] ?? ""]);
}
