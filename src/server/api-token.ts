/**
 * Owns the tokens of the API: one per user of a home, in a file that only they can read. With the token, a
 * client may do with that user's sessions what the command line may.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseUser } from "../contract/index.ts";
import { type Home, makeToken } from "../home/index.ts";
import { isSameToken } from "../http/index.ts";
import { readTextOr, replaceFile, usersDir } from "../util/index.ts";

export const apiTokenPath = (home: Pick<Home, "dir">, user: string) =>
  join(usersDir(home.dir), parseUser(user), "api-token");

export async function makeApiToken(home: Home, user: string): Promise<void> {
  const path = apiTokenPath(home, user);
  if (readTextOr(path, "") !== "") return;
  mkdirSync(join(usersDir(home.dir), user), { recursive: true, mode: 0o700 });
  await replaceFile(home.io.disk, path, Buffer.from(`${makeToken("hfu_")}\n`));
}

/** The user whose token it is. All tokens are compared, so that the time tells nothing. */
export function userOf(home: Pick<Home, "dir">, given: string | undefined): string | undefined {
  let found: string | undefined;
  for (const user of listUsers(home)) {
    const token = readTextOr(apiTokenPath(home, user), "").trim();
    if (token.startsWith("hfu_") && isSameToken(token, given)) found = user;
  }
  return found;
}

const USER_NAME = /^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$/;

function listUsers(home: Pick<Home, "dir">): string[] {
  try {
    return readdirSync(usersDir(home.dir)).filter((name) => USER_NAME.test(name));
  } catch {
    return [];
  }
}
