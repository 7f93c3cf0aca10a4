/**
 * Owns what a capsule takes from the user's own settings: their name and address, what they ignore, and where
 * their shallow clone ends.
 */
import { join, relative, resolve } from "node:path";
import { readPlainFile } from "../../util/index.ts";
import type { Identity } from "../git/git.ts";
import { ignoreFileOf, readUserConfig, type UserSetting } from "../git/user-git.ts";
import { type Repo, remember } from "./repo.ts";

function userSettings(repo: Repo): Promise<UserSetting[]> {
  return remember(repo, "settings", () =>
    readUserConfig(repo.gitDir, "^(user\\.(name|email)|core\\.(excludesfile|hookspath))$"),
  );
}

/** The user's name and address: what is published is theirs. */
export async function userIdentity(repo: Repo): Promise<Identity> {
  const settings = await userSettings(repo);
  const read = (wanted: string) =>
    settings
      .findLast(({ name }) => name === wanted)
      ?.value.replace(/[<>\n]/g, "")
      .trim();
  return { name: read("user.name") || "Holdfast", email: read("user.email") || "holdfast@localhost" };
}

/** The directory of the user's hooks, from the top of the checkout; undefined if it is not in there. */
export async function hooksInTree(repo: Repo): Promise<string | undefined> {
  const set = (await userSettings(repo)).findLast(({ name }) => name === "core.hookspath")?.value;
  if (!set || repo.checkout === null) return undefined;
  const dir = relative(repo.checkout, resolve(repo.checkout, set));
  return dir === "" || dir === ".." || dir.startsWith("../") ? undefined : dir;
}

const MAX_EXCLUDES_BYTES = 1024 * 1024;

/**
 * What the user's git ignores by rules that are in no commit: info/exclude, and a file of the user's own. A
 * capsule gets a copy of both, so only the user, and not the repo, may choose that file.
 */
export async function userExcludes(repo: Repo): Promise<string> {
  const settings = (await userSettings(repo)).filter(({ isRepos }) => !isRepos);
  const configured = settings.findLast(({ name }) => name === "core.excludesfile")?.value;
  const texts = [
    readPlainFile(join(repo.gitDir, "info", "exclude"), { maxBytes: MAX_EXCLUDES_BYTES }),
    readPlainFile(ignoreFileOf(configured), { maxBytes: MAX_EXCLUDES_BYTES, followLinks: true }),
  ];
  return texts.map((text) => `${text?.toString("utf8") ?? ""}\n`).join("");
}

const MAX_SHALLOW_BYTES = 16 * 1024 * 1024;

/** The boundaries of a shallow clone, which its borrowers need too: ids of commits, one on each line. */
export function readShallow(repo: Repo): Buffer | undefined {
  const bytes = readPlainFile(join(repo.gitDir, "shallow"), { maxBytes: MAX_SHALLOW_BYTES });
  return bytes && /^([0-9a-f]{40,64}\n)*$/.test(bytes.toString("latin1")) ? bytes : undefined;
}
