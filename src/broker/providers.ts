/**
 * Owns the list of providers: those that come with Holdfast, with their own addresses, and those that the
 * user's settings name. Pure.
 */
import {
  type Api,
  type KeySettings,
  type ProviderSettings,
  type Settings,
  shippedProviders,
} from "../config/index.ts";
import { HoldfastError } from "../contract/index.ts";

export interface Provider {
  readonly name: string;
  readonly api: Api;
  /** The base URL that an SDK of its API needs, without a slash at the end. */
  readonly baseUrl: string;
  /** The variables in which its key is looked for, in this order. */
  readonly variables: readonly string[];
  /** The place of its key in the user's settings. */
  readonly key: KeySettings | undefined;
  /** Whether the login of its agent can be used too. */
  readonly hasLogin: boolean;
}

const SHIPPED: Readonly<Record<Api, Pick<Provider, "baseUrl" | "variables">>> = {
  anthropic: {
    baseUrl: "https://api.anthropic.com",
    variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
  },
  openai: { baseUrl: "https://api.openai.com/v1", variables: ["OPENAI_API_KEY"] },
  gemini: {
    baseUrl: "https://generativelanguage.googleapis.com",
    variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  },
};

export function providersOf({ providers, keys }: Pick<Settings, "providers" | "keys">): Provider[] {
  const shipped = shippedProviders.map((name) => {
    const own = ownOf(providers, name);
    return {
      name,
      api: name,
      baseUrl: withoutSlash(own?.base_url ?? SHIPPED[name].baseUrl),
      variables: own?.key_env === undefined ? SHIPPED[name].variables : [own.key_env],
      key: ownOf(keys, name),
      hasLogin: name === "anthropic",
    };
  });
  const others = Object.entries(providers).flatMap(([name, { api, base_url, key_env }]): Provider[] =>
    api === undefined || base_url === undefined || shipped.some((one) => one.name === name)
      ? []
      : [
          {
            name,
            api,
            baseUrl: withoutSlash(base_url),
            variables: key_env === undefined ? [] : [key_env],
            key: ownOf(keys, name),
            hasLogin: false,
          },
        ],
  );
  return [...shipped, ...others];
}

export function findProvider(settings: Pick<Settings, "providers" | "keys">, name: string): Provider {
  const found = providersOf(settings).find((one) => one.name === name);
  if (!found) throw new HoldfastError("unknown_provider", `there is no provider ${name}`, { provider: name });
  return found;
}

/** For example a model on the user's own machine. */
export function needsNoKey({ variables, key, hasLogin }: Provider): boolean {
  return variables.length === 0 && key === undefined && !hasLogin;
}

/** All variables that could hold a key for one of the providers. */
export function keyVariables(settings: Pick<Settings, "providers" | "keys">): ReadonlySet<string> {
  return new Set(providersOf(settings).flatMap(({ variables }) => variables));
}

const withoutSlash = (url: string) => url.replace(/\/+$/, "");

function ownOf<T extends ProviderSettings | KeySettings>(all: Readonly<Record<string, T>>, name: string) {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}
