/**
 * Owns where a request goes: from a provider and the path that an agent asked for to an address below the
 * provider's base URL. Pure.
 *
 * provider-1 A path that is not part of the API is refused: a key is for models, and not for files or
 *    accounts. No path leads out of the base URL, however it is written.
 */
import type { Api } from "../config/index.ts";
import { HoldfastError } from "../contract/index.ts";
import type { Provider } from "./providers.ts";

interface ApiPath {
  readonly method: "GET" | "POST";
  readonly form: RegExp;
}

const MODEL = "[A-Za-z0-9._:@~-]+";
const MODELS = new RegExp(`^/models(/${MODEL}){0,3}$`);
const DOT_SEGMENT = /\/\.{1,2}(\/|$)/;

/** The paths of each API, without the prefix that all of them have. */
const PATHS: Readonly<Record<Api, readonly ApiPath[]>> = {
  anthropic: [
    { method: "POST", form: /^\/messages(\/count_tokens)?$/ },
    { method: "GET", form: MODELS },
  ],
  openai: [
    { method: "POST", form: /^\/(chat\/completions|completions|embeddings)$/ },
    { method: "POST", form: /^\/responses(\/compact|\/input_tokens)?$/ },
    { method: "GET", form: MODELS },
  ],
  gemini: [
    {
      method: "POST",
      form: new RegExp(
        `^/models/${MODEL}:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$`,
      ),
    },
    { method: "GET", form: MODELS },
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
  const [, path = "", , query = ""] = /^(\/[^?]*)(\?(.*))?$/s.exec(asked) ?? [];
  const [version] = VERSIONS[provider.api].exec(path) ?? [];
  const rest = path.slice(version?.length ?? 0);
  const isKnown = PATHS[provider.api].some((one) => one.method === method && one.form.test(rest));
  if (version === undefined || !isKnown || DOT_SEGMENT.test(path) || !/^[\x21\x24-\x7e]*$/.test(query))
    throw new HoldfastError(
      "request_refused",
      `${method} ${JSON.stringify(path.slice(0, 200))} is not a request for models, so it is not sent to ${provider.name}`,
      { provider: provider.name },
    );
  const kept = query.split("&").filter((one) => one !== "" && !isCredential(one));
  const below = provider.api === "openai" ? rest : path;
  return new URL(`${provider.baseUrl}${below}${kept.length > 0 ? `?${kept.join("&")}` : ""}`);
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
