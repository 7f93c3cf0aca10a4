/**
 * Owns the paths of models: where a request goes, from a provider and the path that an agent asked for to an address
 * below the provider's base URL, and what is charged for it. Pure.
 *
 * provider-1 A path that is not part of the API is refused: a key is for models, and not for files or
 *    accounts. No path leads out of the base URL, however it is written.
 */
import type { Api } from "../config/index.ts";
import { HoldfastError } from "../contract/index.ts";
import type { Provider } from "./providers.ts";

/** What a provider charges for: what it was sent and its answer, only what it was sent, or nothing. */
export type Charged = "answer" | "input" | "nothing";

interface ApiPath {
  readonly method: "GET" | "POST";
  readonly form: RegExp;
  readonly charged: Charged;
}

const MODEL = "[A-Za-z0-9._:@~-]+";
const MODELS = new RegExp(`^/models(/${MODEL}){0,3}$`);
const DOT_SEGMENT = /\/\.{1,2}(\/|$)/;

const LISTS: ApiPath = { method: "GET", form: MODELS, charged: "nothing" };
const posts = (charged: Charged, form: RegExp): ApiPath => ({ method: "POST", form, charged });
const geminiPosts = (charged: Charged, verbs: string) =>
  posts(charged, new RegExp(`^/models/${MODEL}:(${verbs})$`));

/** The paths of each API, without the prefix that all of them have. */
const PATHS: Readonly<Record<Api, readonly ApiPath[]>> = {
  anthropic: [posts("answer", /^\/messages$/), posts("nothing", /^\/messages\/count_tokens$/), LISTS],
  openai: [
    posts("answer", /^\/(chat\/completions|completions|responses(\/compact)?)$/),
    posts("input", /^\/embeddings$/),
    posts("nothing", /^\/responses\/input_tokens$/),
    LISTS,
  ],
  gemini: [
    geminiPosts("answer", "generateContent|streamGenerateContent"),
    geminiPosts("input", "embedContent|batchEmbedContents"),
    geminiPosts("nothing", "countTokens"),
    LISTS,
  ],
};

/** The prefix. An OpenAI base URL already contains it, and agents may send it or leave it out. */
const VERSIONS: Readonly<Record<Api, RegExp>> = {
  anthropic: /^\/v1(?=\/)/,
  openai: /^(\/v1)?(?=\/)/,
  gemini: /^\/v1(beta|alpha)?(?=\/)/,
};

/** A key in the address would be a further way to authenticate. */
const CREDENTIAL_PARAMETERS = new Set(["key", "api_key", "apikey", "api-key", "access_token", "oauth_token"]);

export function targetOf(provider: Provider, method: string, asked: string): URL {
  const { path, query, rest, known } = readPath(provider.api, method, asked);
  if (!known || DOT_SEGMENT.test(path) || !/^[\x21\x24-\x7e]*$/.test(query))
    throw new HoldfastError(
      "request_refused",
      `${method} ${JSON.stringify(path.slice(0, 200))} is not a request for models, so it is not sent to ${provider.name}`,
      { provider: provider.name },
    );
  const kept = query.split("&").filter((one) => one !== "" && !isCredential(one));
  const below = provider.api === "openai" ? rest : path;
  return new URL(`${provider.baseUrl}${below}${kept.length > 0 ? `?${kept.join("&")}` : ""}`);
}

/** A path that is not part of the API counts as one that is charged for, so that it is never free. */
export function chargedFor(api: Api, method: string, asked: string): Charged {
  return readPath(api, method, asked).known?.charged ?? "answer";
}

function readPath(api: Api, method: string, asked: string) {
  const [, path = "", , query = ""] = /^(\/[^?]*)(\?(.*))?$/s.exec(asked) ?? [];
  const [version] = VERSIONS[api].exec(path) ?? [];
  const rest = path.slice(version?.length ?? 0);
  const known =
    version === undefined
      ? undefined
      : PATHS[api].find((one) => one.method === method && one.form.test(rest));
  return { path, query, rest, known };
}

function isCredential(parameter: string): boolean {
  const name = parameter.split("=", 1)[0]?.replaceAll("+", " ") ?? "";
  try {
    return CREDENTIAL_PARAMETERS.has(decodeURIComponent(name).trim().toLowerCase());
  } catch {
    // A parameter that can't be decoded might be one.
    return true;
  }
}
