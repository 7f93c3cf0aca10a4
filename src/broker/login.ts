/**
 * Owns the agent's own login, of Claude Code: read from where Claude Code keeps it, whenever it is needed. It is never
 * written, unless the user's settings ask for that (`logins.claude.refresh`).
 */
import type { LoginSettings } from "../config/index.ts";
import type { Clock } from "../util/index.ts";
import type { Credential } from "./credential.ts";
import { isExpired, type Login, type LoginTime, loginExpired, readLogin } from "./login-file.ts";
import { renewLogin } from "./login-renewal.ts";

/** Claude Code renews its own as early. */
const EARLY_MS = 5 * 60_000;
/** Requests that are held try every few seconds: the endpoint is not asked as often for what it refused. */
const FAILED_MS = 60_000;

export class ClaudeLogin {
  readonly #dir: string;
  readonly #clock: Clock;
  /** Those who find it run out at once wait for one renewal. */
  #renewing: Promise<Login> | undefined;
  /** The last renewal that failed, of which refresh token, and when. */
  #failed: { readonly of: string | undefined; readonly atMs: number; readonly error: unknown } | undefined;

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /** Undefined when there is no login; fails with `login_expired`. */
  async credential(settings: LoginSettings): Promise<Credential | undefined> {
    const login = readLogin(this.#dir);
    if (!login) return undefined;
    const nowMs = this.#clock.nowMs();
    const usable =
      settings.refresh && isExpired(login, nowMs + EARLY_MS) ? await this.#renewed(login, settings) : login;
    if (isExpired(usable, nowMs)) throw loginExpired();
    return { form: "login", value: usable.accessToken, source: "login" };
  }

  /** When the one that is there runs out; undefined when there is none. */
  time(): LoginTime | undefined {
    const login = readLogin(this.#dir);
    return login && { expiresAtMs: login.expiresAtMs };
  }

  async #renewed(login: Login, { token_url }: LoginSettings): Promise<Login> {
    try {
      this.#renewing ??= this.#renew(login, token_url).finally(() => {
        this.#renewing = undefined;
      });
      return await this.#renewing;
    } catch (error) {
      if (isExpired(login, this.#clock.nowMs())) throw error;
      // It came early: the old one still opens.
      return login;
    }
  }

  async #renew(login: Login, tokenUrl: string | undefined): Promise<Login> {
    const clock = this.#clock;
    const { of, atMs, error } = this.#failed ?? {};
    if (atMs !== undefined && of === login.refreshToken && clock.monotonicMs() - atMs < FAILED_MS)
      throw error;
    try {
      return await renewLogin(this.#dir, { seen: login, clock, tokenUrl });
    } catch (caught) {
      this.#failed = { of: login.refreshToken, atMs: clock.monotonicMs(), error: caught };
      throw caught;
    }
  }
}
