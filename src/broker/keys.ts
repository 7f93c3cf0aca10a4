/**
 * Owns which credential a request of a session gets: the command or file that the user's settings name, or
 * else the environment of the person who started the session, or else the agent's own login. If what the
 * settings name fails, nothing replaces it, because another key may belong to another account.
 *
 * key-1 A key from an environment serves only the session that it was passed on for.
 */
import type { Settings } from "../config/index.ts";
import { HoldfastError, type SessionId, type Values } from "../contract/index.ts";
import type { Clock } from "../util/index.ts";
import type { Credential } from "./credential.ts";
import { KeyCommands } from "./key-commands.ts";
import { keyIn, readKeyFile } from "./key-file.ts";
import type { ClaudeLogins } from "./login.ts";
import { needsNoKey, type Provider } from "./providers.ts";

/** How Anthropic's tokens of a subscription begin. */
const LOGIN_TOKEN = /^sk-ant-oat/;
const TOKEN_VARIABLES = new Set(["ANTHROPIC_AUTH_TOKEN"]);

export interface KeysOptions {
  readonly homeDir: string;
  readonly clock: Clock;
  readonly logins: ClaudeLogins;
}

export class Keys {
  readonly #homeDir: string;
  readonly #logins: ClaudeLogins;
  readonly #commands: KeyCommands;
  /** The variables of each session. */
  readonly #brought = new Map<SessionId, Values>();

  constructor({ homeDir, clock, logins }: KeysOptions) {
    this.#homeDir = homeDir;
    this.#logins = logins;
    this.#commands = new KeyCommands(clock);
  }

  /** Values under other names, from earlier calls, are kept. Spare ones replace none. */
  bring(session: SessionId, values: Values, { isSpare = false } = {}): void {
    const known = this.#brought.get(session);
    this.#brought.set(session, isSpare ? { ...values, ...known } : { ...known, ...values });
  }

  forget(session: SessionId): void {
    this.#brought.delete(session);
  }

  /** Those of these variables that were passed on for the session (key-1). */
  brought(session: SessionId, names: readonly string[]): Values {
    const values = this.#brought.get(session) ?? {};
    const there = names.filter((name) => Object.hasOwn(values, name) && values[name] !== "");
    return Object.fromEntries(there.map((name) => [name, values[name] ?? ""]));
  }

  /**
   * Undefined when the provider needs none; fails with `key_missing` or `login_expired`. `loginDir`: where the
   * session's own login of Claude Code is; without it none is used.
   */
  async credentialFor(
    { session, loginDir }: { readonly session: SessionId; readonly loginDir: string | undefined },
    provider: Provider,
    settings: Settings,
  ): Promise<Credential | undefined> {
    const { name, key, hasLogin } = provider;
    if (key?.command) return withForm(await this.#commands.valueOf(name, key.command), "command");
    if (key?.file !== undefined)
      return withForm(
        readKeyFile(key.file, { setting: `keys.${name}`, provider: name, homeDir: this.#homeDir }),
        "file",
      );
    const brought = fromVariables(provider, this.#brought.get(session) ?? {});
    if (brought) return brought;
    const login =
      hasLogin && loginDir !== undefined
        ? await this.#logins.in(loginDir).credential(settings.logins.claude)
        : undefined;
    if (login || needsNoKey(provider)) return login;
    throw new HoldfastError("key_missing", `there is no key for ${name}: ${helpFor(provider)}`, {
      provider: name,
      help: helpFor(provider),
    });
  }

  /** The provider refused the credential. */
  async refuse({ key }: Provider, { source, value }: Credential): Promise<void> {
    if (source === "command" && key?.command) await this.#commands.refuse(key.command, value);
  }
}

/** The first of a provider's variables that has a key. */
function fromVariables({ variables }: Provider, values: Values): Credential | undefined {
  for (const name of variables) {
    const value = keyIn(values[name] ?? "");
    if (value === undefined) continue;
    const credential = withForm(value, "environment");
    return TOKEN_VARIABLES.has(name) ? { ...credential, form: "token" } : credential;
  }
  return undefined;
}

/** What a person without a key can do. */
export function helpFor({ name, variables, hasLogin }: Provider): string {
  const [variable] = variables;
  const ways = [
    ...(variable === undefined ? [] : [`set ${variable} where you start or resume the session`]),
    `name keys.${name} in settings.yaml`,
    ...(hasLogin ? ["log in with claude"] : []),
  ];
  return `${ways.slice(0, -1).join(", ")}${ways.length > 1 ? ", or " : ""}${ways.at(-1)}`;
}

function withForm(value: string, source: Credential["source"]): Credential {
  return { form: LOGIN_TOKEN.test(value) ? "login" : "key", value, source };
}
