/**
 * Owns renewing Claude Code's login, which happens only if the user's settings ask for it. It runs under
 * Claude Code's own lock, reads the file then, and writes it back in one step, with all other content
 * unchanged.
 *
 * login-1 A refresh token is never used twice at the same time: not by two sessions, two brokers, or a broker
 *    and Claude Code. What another process wrote meanwhile is never overwritten.
 * login-2 A login that was renewed is not lost: if it can't be written to its file, it is kept and tried again.
 */
import { chmodSync, chownSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  type Clock,
  createFile,
  isPlainObject,
  parseObject,
  realDisk,
  temporaryPath,
} from "../util/index.ts";
import { isExpired, type Login, loginExpired, loginIn, loginPath, readLogin } from "./login-file.ts";
import { withLoginLock } from "./login-lock.ts";
import { postJson } from "./post.ts";

/** Where Claude Code renews it, with this public client id. */
const TOKEN_URL = "https://platform.claude.com/v1/oauth/token";
const CLIENT_ID = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";

export interface Renewal {
  /** The login that was found to have expired. */
  readonly seen: Login;
  readonly clock: Clock;
  readonly tokenUrl: string | undefined;
}

/** What the endpoint gave. */
export interface Renewed {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: number;
}

export interface RenewedLogin {
  readonly login: Login;
  /**
   * Set when it could not be written to its file, whose refresh token was used up: only this process has the
   * login then.
   */
  readonly unsaved?: Renewed;
}

/** Fails with `login_expired`. */
export async function renewLogin(dir: string, { seen, clock, tokenUrl }: Renewal): Promise<RenewedLogin> {
  const found = await withLoginLock(dir, clock, async (): Promise<RenewedLogin> => {
    const login = readLogin(dir);
    if (!login) throw loginExpired("was removed");
    // Another process renewed it during the wait.
    if (login.accessToken !== seen.accessToken && !isExpired(login, clock.nowMs())) return { login };
    const { refreshToken } = login;
    if (refreshToken === undefined) throw loginExpired("has expired, and can't be renewed");
    const renewed = await askFor(login, refreshToken, { url: tokenUrl ?? TOKEN_URL, clock });
    const now = readLogin(dir);
    // Whether the lock is still held does not matter: the endpoint has used up the token in the file.
    if (now && now.refreshToken !== refreshToken) return { login: now };
    const own = { ...login, ...renewed, expiresAtMs: renewed.expiresAt };
    const isSaved = await writeBack(dir, renewed).catch(() => false);
    return { login: own, ...(!isSaved && { unsaved: renewed }) };
  });
  return found ?? { login: readLogin(dir) ?? seen };
}

/** Tries again to write a renewed login. It resolves to whether the file has it, or has a newer one. */
export async function saveRenewed(
  dir: string,
  {
    usedUp,
    renewed,
    clock,
  }: { readonly usedUp: string | undefined; readonly renewed: Renewed; readonly clock: Clock },
): Promise<boolean> {
  const isSaved = await withLoginLock(dir, clock, async () =>
    readLogin(dir)?.refreshToken === usedUp ? writeBack(dir, renewed) : true,
  ).catch(() => false);
  return isSaved ?? false;
}

async function askFor(
  { scopes, clientId = CLIENT_ID }: Login,
  refreshToken: string,
  { url, clock }: { readonly url: string; readonly clock: Clock },
): Promise<Renewed> {
  const scope = scopes.length > 0 ? { scope: scopes.join(" ") } : {};
  const question = {
    grant_type: "refresh_token",
    refresh_token: refreshToken,
    client_id: clientId,
    ...scope,
  };
  const { status, text } = await postJson(url, question).catch(() => ({ status: 0, text: "" }));
  const answer = status === 200 ? parseObject(text) : undefined;
  const { access_token, refresh_token, expires_in } = answer ?? {};
  if (typeof access_token !== "string" || typeof expires_in !== "number")
    throw loginExpired(
      `has expired, and could not be renewed: ${status === 0 ? "no answer" : `the answer was ${status}`}`,
    );
  return {
    accessToken: access_token,
    refreshToken: typeof refresh_token === "string" ? refresh_token : refreshToken,
    expiresAt: clock.nowMs() + expires_in * 1000,
  };
}

/** Writes the whole file or nothing. Mode, owner and unknown fields stay. False: there is no such file. */
async function writeBack(dir: string, renewed: Renewed): Promise<boolean> {
  const path = realpathSync(loginPath(dir));
  const file = parseObject(readFileSync(path, "utf8"));
  const before = file?.["claudeAiOauth"];
  if (!file || !loginIn(file) || !isPlainObject(before)) return false;
  const text = JSON.stringify({ ...file, claudeAiOauth: { ...before, ...renewed } });
  const { mode, uid, gid } = statSync(path);
  const temporary = temporaryPath(path);
  try {
    await createFile(realDisk, temporary, Buffer.from(text));
    if (uid !== process.getuid?.()) chownSync(temporary, uid, gid);
    chmodSync(temporary, mode & 0o777);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  await realDisk.syncDir(dirname(path));
  return true;
}
