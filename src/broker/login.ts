/**
 * Owns the agent's own login, that of Claude Code: it is read from Claude Code's file whenever it is needed.
 * It is never written, unless the user's settings ask for that (`logins.claude.refresh`).
 */
import type { LoginSettings } from "../config/index.ts";
import type { Clock } from "../util/index.ts";
import type { Credential } from "./credential.ts";
import { isExpired, type Login, type LoginTime, loginExpired, readLogin } from "./login-file.ts";
import { type Renewed, renewLogin, saveRenewed } from "./login-renewal.ts";

/** Claude Code renews its login this early, too. */
const EARLY_MS = 5 * 60_000;
/** Held requests retry every few seconds. The endpoint is not asked that often after a refusal. */
const FAILED_MS = 60_000;

/** The logins of all directories that sessions name. */
export class ClaudeLogins {
  readonly #clock: Clock;
  readonly #logins = new Map<string, ClaudeLogin>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  in(dir: string): ClaudeLogin {
    const known = this.#logins.get(dir);
    if (known) return known;
    const login = new ClaudeLogin(dir, this.#clock);
    this.#logins.set(dir, login);
    return login;
  }
}

export class ClaudeLogin {
  readonly #dir: string;
  readonly #clock: Clock;
  /** Requests that find it expired at the same time share one renewal. */
  #renewing: Promise<Login> | undefined;
  /** The last renewal that failed: its refresh token, and when. */
  #failed: { readonly of: string | undefined; readonly atMs: number; readonly error: unknown } | undefined;

  /** A renewed login that its file does not have yet, and the refresh token that it replaces. */
  #unsaved: { readonly usedUp: string | undefined; readonly renewed: Renewed } | undefined;

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /** Undefined when there is no login; fails with `login_expired`. */
  async credential(settings: LoginSettings): Promise<Credential | undefined> {
    const login = await this.#read();
    if (!login) return undefined;
    const nowMs = this.#clock.nowMs();
    const usable =
      settings.refresh && isExpired(login, nowMs + EARLY_MS) ? await this.#renewed(login, settings) : login;
    if (isExpired(usable, nowMs)) throw loginExpired();
    return { form: "login", value: usable.accessToken, source: "login" };
  }

  /** When the login expires; undefined when there is none. */
  time(): LoginTime | undefined {
    const login = readLogin(this.#dir);
    return login && { expiresAtMs: login.expiresAtMs };
  }

  /** login-2 */
  async #read(): Promise<Login | undefined> {
    const login = readLogin(this.#dir);
    const unsaved = this.#unsaved;
    if (!unsaved || !login) return login;
    if (await saveRenewed(this.#dir, { ...unsaved, clock: this.#clock })) {
      this.#unsaved = undefined;
      return readLogin(this.#dir);
    }
    return { ...login, ...unsaved.renewed, expiresAtMs: unsaved.renewed.expiresAt };
  }

  async #renewed(login: Login, { token_url }: LoginSettings): Promise<Login> {
    try {
      this.#renewing ??= this.#renew(login, token_url).finally(() => {
        this.#renewing = undefined;
      });
      return await this.#renewing;
    } catch (error) {
      if (isExpired(login, this.#clock.nowMs())) throw error;
      // The renewal came early: the old token is still valid.
      return login;
    }
  }

  async #renew(login: Login, tokenUrl: string | undefined): Promise<Login> {
    const clock = this.#clock;
    const { of, atMs, error } = this.#failed ?? {};
    if (atMs !== undefined && of === login.refreshToken && clock.monotonicMs() - atMs < FAILED_MS)
      throw error;
    try {
      const { login: renewed, unsaved } = await renewLogin(this.#dir, { seen: login, clock, tokenUrl });
      this.#unsaved = unsaved && { usedUp: login.refreshToken, renewed: unsaved };
      return renewed;
    } catch (caught) {
      this.#failed = { of: login.refreshToken, atMs: clock.monotonicMs(), error: caught };
      throw caught;
    }
  }
}
