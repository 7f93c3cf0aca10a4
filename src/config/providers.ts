/**
 * Owns the sections `providers`, `keys`, `variables` and `logins`: where models are, and where the keys to
 * them and the variables of tools come from. A key itself can't be written down here, only where it is.
 */
import * as z from "zod/mini";
import { variableSchema } from "../contract/index.ts";
import { orNothing } from "./document.ts";
import { pathSchema } from "./path.ts";

/** The APIs through which models are reached. */
const apis = ["anthropic", "openai", "gemini"] as const;
/** How a provider of models is spoken to. */
export type Api = (typeof apis)[number];

/** The providers that need no settings. Each has the name of its API. */
export const shippedProviders: readonly Api[] = apis;

const MAX_PROVIDERS = 100;
const MAX_WORDS = 100;
const NAME = /^[a-z][a-z0-9-]{0,39}$/;
/** The known beginnings of providers' keys. */
const KEY_ITSELF = /(^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{20,})/;

const address = z.string().check(z.refine(isAddress, "is not an address of the form https://HOST/PATH"));
const provider = z.strictObject({
  api: z.optional(z.enum(apis)),
  /** The base address, as an SDK of its API takes it. */
  base_url: z.optional(address),
  /** The variable that has its key. */
  key_env: z.optional(variableSchema),
});

const word = z.string().check(
  z.maxLength(4096),
  z.refine((text) => !text.includes("\0"), "is not a word of a command"),
  z.refine(
    (text) => !KEY_ITSELF.test(text),
    "is a key itself: give a command that prints the key, or a file that has it",
  ),
);
const key = z
  .strictObject(
    {
      /** Prints the key on its first line. */
      command: z.optional(z.array(word).check(z.minLength(1), z.maxLength(MAX_WORDS))),
      file: z.optional(pathSchema),
    },
    {
      error: ({ code }) =>
        code === "invalid_type"
          ? "must name a command or a file: a key itself can't be written here"
          : undefined,
    },
  )
  .check(
    z.refine(
      ({ command, file }) => (command === undefined) !== (file === undefined),
      "must name either a command or a file",
    ),
  );

const login = z.strictObject({
  /** Whether a token that has expired is renewed, and written back to where the agent keeps it. */
  refresh: z._default(z.boolean(), false),
  /** Where the renewal is requested; by default, where the agent requests it. */
  token_url: z.optional(address),
});
const logins = z.strictObject({ claude: z.prefault(z.pipe(orNothing, login), {}) });

export const providersSection = z.prefault(
  z.pipe(orNothing, z.record(z.string(), z.pipe(orNothing, provider)).check(checkProviders)),
  {},
);
export const keysSection = z.prefault(z.pipe(orNothing, z.record(z.string(), key)), {});
/** Variables that tools get and no task does, by their names. */
export const variablesSection = z.prefault(z.pipe(orNothing, z.record(variableSchema, key)), {});
export const loginsSection = z.prefault(z.pipe(orNothing, logins), {});

export type ProviderSettings = z.infer<typeof provider>;
export type KeySettings = z.infer<typeof key>;
export type LoginSettings = z.infer<typeof login>;

const isShipped = (name: string) => (shippedProviders as readonly string[]).includes(name);

function checkProviders({ value, issues }: z.core.ParsePayload<Record<string, ProviderSettings>>): void {
  const refuse = (path: string[], message: string) =>
    issues.push({ code: "custom", path, message, input: value });
  const entries = Object.entries(value);
  if (entries.length > MAX_PROVIDERS) refuse([], `has more than ${MAX_PROVIDERS} providers`);
  for (const [name, { api, base_url }] of entries) {
    if (!NAME.test(name))
      refuse([name], "is not a name for a provider: use small letters, digits and hyphens, a letter first");
    else if (isShipped(name) && api !== undefined && api !== name)
      refuse([name, "api"], "comes with holdfast: choose another name for a provider with another API");
    else if (!isShipped(name) && (api === undefined || base_url === undefined))
      refuse([name], "needs api and base_url");
  }
}

/** The keys that are for an unknown provider. */
export function strayKeys(
  keys: Readonly<Record<string, KeySettings>>,
  providers: Readonly<Record<string, ProviderSettings>>,
): string[] {
  return Object.keys(keys).filter((name) => !isShipped(name) && !Object.hasOwn(providers, name));
}

/**
 * It has no user name or password, which would be a key, and no query, to which nothing could be appended.
 */
function isAddress(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "" && !/[?#\s\\]/.test(text);
}
