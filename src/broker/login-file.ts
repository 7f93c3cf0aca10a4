/**
 * Owns the form of Claude Code's login, as Claude Code stores it in its file.
 */
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { isPlainObject, parseObject, readPlainFile } from "../util/index.ts";
import { keyIn } from "./key-file.ts";

/** The part of a login that may be shown. */
export interface LoginTime {
  /** Null when the file does not have it. */
  readonly expiresAtMs: number | null;
}

export interface Login extends LoginTime {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly scopes: readonly string[];
  readonly clientId: string | undefined;
}

const MAX_BYTES = 1024 * 1024;

export const loginPath = (dir: string) => join(dir, ".credentials.json");

/** Undefined when there is none. Only the broker may call it: no other process has a login in its memory. */
export function readLogin(dir: string): Login | undefined {
  const file = readPlainFile(loginPath(dir), { maxBytes: MAX_BYTES, followLinks: true });
  return file && loginIn(parseObject(file.toString("utf8")));
}

export function loginIn(file: Record<string, unknown> | undefined): Login | undefined {
  const login = file?.["claudeAiOauth"];
  if (!isPlainObject(login)) return undefined;
  const { accessToken, refreshToken, expiresAt, scopes, clientId } = login;
  const token = typeof accessToken === "string" ? keyIn(accessToken) : undefined;
  if (token === undefined) return undefined;
  return {
    accessToken: token,
    refreshToken: typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
    expiresAtMs: typeof expiresAt === "number" ? expiresAt : null,
    scopes: Array.isArray(scopes) ? scopes.filter((one) => typeof one === "string") : [],
    clientId: typeof clientId === "string" ? clientId : undefined,
  };
}

export const isExpired = ({ expiresAtMs }: LoginTime, nowMs: number) =>
  expiresAtMs !== null && expiresAtMs <= nowMs;

export function loginExpired(why = "has expired"): HoldfastError {
  return new HoldfastError("login_expired", `the login of claude ${why}`, { provider: "anthropic" });
}
