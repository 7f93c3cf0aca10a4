/**
 * Owns a session's token: random, in a file of its own, and never in an environment variable, an argument or
 * a journal. It opens only that session's door. It is made with the session and can be changed or revoked by
 * itself, so the file is read for every request.
 */
import { randomBytes } from "node:crypto";
import { type Disk, readTextOr, replaceFile, tokenPath } from "../util/index.ts";

const REVOKED = "revoked";
/** Marks the text as a token, so that scanners for secrets recognize it. */
const PREFIX = "hfs_";

export function makeToken(prefix = PREFIX): string {
  return prefix + randomBytes(32).toString("base64url");
}

export async function rotateToken(disk: Disk, sessionDir: string): Promise<void> {
  await replaceFile(disk, tokenPath(sessionDir), Buffer.from(`${makeToken()}\n`));
}

export async function revokeToken(disk: Disk, sessionDir: string): Promise<void> {
  await replaceFile(disk, tokenPath(sessionDir), Buffer.from(`${REVOKED}\n`));
}

/** Undefined when the token was revoked. A session from before tokens existed gets one. */
export async function readToken(disk: Disk, sessionDir: string): Promise<string | undefined> {
  const text = readTextOr(tokenPath(sessionDir), undefined);
  if (text === undefined) {
    await rotateToken(disk, sessionDir);
    return readToken(disk, sessionDir);
  }
  const token = text.trim();
  return isToken(token) ? token : undefined;
}

const isToken = (text: string) => /^hfs_[A-Za-z0-9_-]{43}$/.test(text);
