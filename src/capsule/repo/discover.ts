/**
 * Owns finding the user's repo and deciding whether it may be used. A repo may come from anyone: its gitdir
 * names where its files are, what it borrows and what is run. So it must be the user's own, as git itself
 * judges that, and what it says about its place must be true.
 *
 * repo-2 A repo that another person may have planted is refused: one that belongs to another user, a bare
 *    repo inside a checkout, one whose gitdir claims another directory as its checkout, and one inside the
 *    home.
 */
import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { isWithin, readPlainFile } from "../../util/index.ts";
import { askWhere, readUserConfig } from "../git/user-git.ts";

export interface Discovered {
  /** The top of the checkout; null for a bare repo. */
  readonly checkout: string | null;
  /** Where its refs and objects are. */
  readonly gitDir: string;
  /** Where the HEAD of this checkout is. */
  readonly headDir: string;
  readonly objectFormat: string;
}

const MAX_GITFILE_BYTES = 64 * 1024;

export async function discoverRepo(homeDir: string, path: string): Promise<Discovered> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new HoldfastError("not_a_repo", `the directory ${path} does not exist`, { path });
  const found = await askGit(path);
  for (const dir of [found.gitDir, found.headDir])
    if (isWithin(homeDir, dir))
      throw new HoldfastError("not_a_repo", `the gitdir of ${path} is inside the home ${homeDir}`, { path });
  if (found.checkout === null) await assertDeclared(found.gitDir);
  else if (!leadsTo(found.checkout, found.headDir))
    throw new HoldfastError(
      "not_a_repo",
      `the gitdir of ${path} claims ${found.checkout} as its checkout, but that directory has another gitdir`,
      { path },
    );
  return found;
}

async function askGit(path: string): Promise<Discovered> {
  // The last question has no answer in a bare repo. Git still prints the answers before it.
  const questions = [
    "--is-bare-repository",
    "--show-object-format",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
  ];
  const { stdout, stderr, exitCode } = await askWhere(path, questions);
  const [isBare, format, headDir, common, ...rest] = stdout.toString("utf8").split("\n");
  const top = rest.join("\n").replace(/\n$/, "");
  if (/dubious ownership|unsafe repository/.test(stderr))
    throw refused("it belongs to another user", /--add safe\.directory (.+)/.exec(stderr)?.[1] ?? path);
  if (!headDir || !common) throw new HoldfastError("not_a_repo", `${path} is not in a git repo`, { path });
  const gitDir = realpathSync(resolve(path, common));
  const objectFormat = format ?? "sha1";
  if (isBare === "true") return { checkout: null, gitDir, headDir: gitDir, objectFormat };
  if (exitCode !== 0 || top === "")
    throw new HoldfastError("not_a_repo", `${path} is inside a git directory, not in a checkout`, { path });
  return { checkout: realpathSync(top), gitDir, headDir, objectFormat };
}

/**
 * Anyone can commit a directory that looks like a bare repo. A user who only clones it must not be led into
 * it.
 */
async function assertDeclared(gitDir: string): Promise<void> {
  for (let dir = dirname(gitDir); ; dir = dirname(dir)) {
    if (existsSync(join(dir, ".git"))) break;
    if (dir === dirname(dir)) return;
  }
  const declared = (await readUserConfig(gitDir, "^safe\\.directory$"))
    .filter(({ isRepos }) => !isRepos)
    .map(({ value }) => value);
  if (!declared.includes(gitDir)) throw refused("it is a bare repo inside a checkout", gitDir);
}

/** Whether the checkout's own `.git` is this gitdir or names it. */
function leadsTo(checkout: string, headDir: string): boolean {
  const path = join(checkout, ".git");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return false;
  const named =
    stats.isFile() && /^gitdir: (.+)/.exec(String(readPlainFile(path, { maxBytes: MAX_GITFILE_BYTES })))?.[1];
  try {
    return realpathSync(named ? resolve(checkout, named) : path) === realpathSync(headDir);
  } catch {
    return false;
  }
}

function refused(why: string, path: string): HoldfastError {
  return new HoldfastError("unsafe_repo", `the repo ${path} is refused: ${why}`, { path });
}
