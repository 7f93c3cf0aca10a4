/**
 * Owns what is known of the user's repo, and what is read from it. It is written in two places only: hidden
 * refs below refs/holdfast/, and the branch that is published.
 *
 * K5 Working tree, index, config, hooks and the user's branches are as they were, whatever a task does.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { runProgram, userHome } from "../process/index.ts";
import { errorCode, readTextOr, sha256Hex } from "../util/index.ts";
import { type GitPlace, git, gitLine, type Identity, readUserConfig, runGit } from "./git.ts";
import { type BytePath, toText } from "./path.ts";

export interface Repo {
  /** The name of its directory in the home. */
  readonly key: string;
  /** The top of the checkout that the user named; null for a bare repo. */
  readonly checkout: string | null;
  /** Where its refs and objects are. */
  readonly gitDir: string;
  readonly objects: string;
  /** Of the checkout that the user named: where its HEAD is. */
  readonly headDir: string;
  readonly objectFormat: "sha1" | "sha256";
  /** `repos/<key>` in the home: its store, bases and layers. */
  readonly dir: string;
}

export const objectsLink = (repo: Pick<Repo, "dir">) => join(repo.dir, "objects");
export const repoLock = (repo: Pick<Repo, "dir">) => join(repo.dir, "lock");
export const userPlace = ({ gitDir }: Pick<Repo, "gitDir">): GitPlace => ({ gitDir });

const remembered = new WeakMap<Repo, Map<string, Promise<unknown>>>();

/**
 * What can't change, or need not be read twice for one piece of work: a repo is opened anew for the next one. What
 * failed is not remembered.
 */
export function remember<T>(repo: Repo, what: string, work: () => Promise<T>): Promise<T> {
  const known = remembered.get(repo) ?? new Map<string, Promise<unknown>>();
  remembered.set(repo, known);
  const before = known.get(what) as Promise<T> | undefined;
  if (before) return before;
  const answer = work();
  known.set(what, answer);
  answer.catch(() => known.delete(what));
  return answer;
}

export async function openRepo(homeDir: string, path: string): Promise<Repo> {
  const [top, gitDir, headDir, objectFormat] = await discover(path);
  const checkout = top === "" ? null : realpathSync(top);
  if (checkout !== null && (homeDir === checkout || homeDir.startsWith(checkout + sep))) {
    throw new HoldfastError(
      "usage",
      `the home ${homeDir} stands inside the repo ${checkout}: set HOLDFAST_HOME to another place`,
    );
  }
  const repo = describe(homeDir, gitDir, objectFormat, { checkout, headDir });
  await prepare(repo);
  return repo;
}

function describe(
  homeDir: string,
  gitDir: string,
  objectFormat: string,
  { checkout, headDir }: Pick<Repo, "checkout" | "headDir">,
): Repo {
  const name = basename(gitDir) === ".git" ? basename(dirname(gitDir)) : basename(gitDir);
  const key = `${name.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 40)}-${sha256Hex(gitDir).slice(0, 12)}`;
  return {
    key,
    checkout,
    gitDir,
    headDir,
    objects: join(gitDir, "objects"),
    objectFormat: objectFormat === "sha256" ? "sha256" : "sha1",
    dir: join(homeDir, "repos", key),
  };
}

/** The repos that this home has worked on, as far as they are still where they were. */
export async function listRepos(homeDir: string): Promise<Repo[]> {
  const keys = await readdir(join(homeDir, "repos")).catch(() => []);
  const repos: Repo[] = [];
  for (const key of keys) {
    const target = await readlink(join(homeDir, "repos", key, "objects")).catch(() => undefined);
    if (target === undefined || !existsSync(target)) continue;
    const gitDir = dirname(target);
    const format = await gitLine({ gitDir }, ["rev-parse", "--show-object-format"], { accept: [0, 128] });
    repos.push(describe(homeDir, gitDir, format, { checkout: null, headDir: gitDir }));
  }
  return repos;
}

async function discover(path: string): Promise<[string, string, string, string]> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new HoldfastError("not_a_repo", `there is no directory ${path}`, { path });
  const ask = (...args: string[]) =>
    runProgram(["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "rev-parse", ...args], {
      cwd: path,
      env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", LC_ALL: "C", GIT_CONFIG_NOSYSTEM: "1" },
    });
  // The last question has no answer in a bare repo; what was answered before it is still said.
  const answer = await ask(
    "--is-bare-repository",
    "--show-object-format",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
  );
  const [isBare, format, headDir, common, ...rest] = answer.stdout.toString("utf8").split("\n");
  const top = rest.join("\n").replace(/\n$/, "");
  if (!headDir || !common) throw new HoldfastError("not_a_repo", `${path} is not in a git repo`, { path });
  const gitDir = realpathSync(resolve(path, common));
  if (isBare === "true") return ["", gitDir, gitDir, format ?? "sha1"];
  if (answer.exitCode !== 0 || top === "")
    throw new HoldfastError("not_a_repo", `${path} is inside a git directory, not in a checkout`, { path });
  return [top, gitDir, headDir, format ?? "sha1"];
}

/** A name for the user's objects that is the same inside a sandbox, where the checkout's own path is taken. */
async function prepare(repo: Repo): Promise<void> {
  for (const path of [dirname(repo.dir), repo.dir])
    await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
  await symlink(repo.objects, objectsLink(repo)).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
  });
}

/** The object directories that the user's own borrow from, all the way down. */
export function borrowedObjects(objects: string): string[] {
  const found: string[] = [];
  const visit = (dir: string) => {
    for (const line of readTextOr(join(dir, "info", "alternates"), "").split("\n")) {
      if (line === "" || line.startsWith("#")) continue;
      const path = isAbsolute(line) ? line : resolve(dir, line);
      if (found.includes(path) || !existsSync(path)) continue;
      found.push(path);
      visit(path);
    }
  };
  visit(objects);
  return found;
}

/** The commit that a name stands for; null for the HEAD of a repo without a commit. */
export async function resolveCommit(repo: Repo, name = "HEAD"): Promise<string | null> {
  const place = { gitDir: name === "HEAD" ? repo.headDir : repo.gitDir };
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const { exitCode, stdout } = await runGit(place, args, { accept: [0, 1, 128] });
  if (exitCode === 0) {
    const commit = stdout.toString("utf8").trim();
    if (name === "HEAD") remember(repo, "head", async () => commit);
    return commit;
  }
  if (
    name === "HEAD" &&
    (await runGit(place, ["symbolic-ref", "-q", "HEAD"], { accept: [0, 1, 128] })).exitCode === 0
  )
    return null;
  throw new HoldfastError("base_missing", `there is no commit ${name} in ${repo.checkout ?? repo.gitDir}`, {
    base: name,
  });
}

/** Whether a commit is the user's: reachable from a ref that is not one of ours. */
export async function isUsersCommit(repo: Repo, commit: string): Promise<boolean> {
  const head = remember(repo, "head", () =>
    gitLine({ gitDir: repo.headDir }, ["rev-parse", "HEAD"], { accept: [0, 128] }),
  );
  if ((await head) === commit) return true;
  const refs = await git(userPlace(repo), ["for-each-ref", "--format=%(refname)", "--contains", commit]);
  return refs
    .toString("utf8")
    .split("\n")
    .some((ref) => ref !== "" && !isOurs(ref));
}

const isOurs = (ref: string) => ref.startsWith("refs/holdfast/") || ref.startsWith("refs/heads/holdfast/");

/** What stands in a capsule's packed-refs: the user's branches and tags, as they are now. */
export async function readRefs(repo: Repo): Promise<{ name: string; id: string }[]> {
  const refs = await git(userPlace(repo), ["for-each-ref", "--format=%(objectname) %(refname)"]);
  return refs
    .toString("utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => ({ id: line.slice(0, line.indexOf(" ")), name: line.slice(line.indexOf(" ") + 1) }))
    .filter(({ name }) => !isOurs(name));
}

/** Keeps a base, and all that a snapshot leaves to it, safe from the user's own garbage collection. */
export async function holdCommit(repo: Repo, commit: string): Promise<void> {
  const ref = `refs/holdfast/held/${commit}`;
  if (existsSync(join(repo.gitDir, ref))) return;
  await git(userPlace(repo), ["update-ref", ref, commit]);
}

export async function heldCommits(repo: Repo): Promise<string[]> {
  const refs = await git(userPlace(repo), ["for-each-ref", "--format=%(objectname)", "refs/holdfast/held"]);
  return refs.toString("utf8").split("\n").filter(Boolean);
}

export async function releaseCommit(repo: Repo, commit: string): Promise<void> {
  await git(userPlace(repo), ["update-ref", "-d", `refs/holdfast/held/${commit}`, commit]);
}

function userSettings(repo: Repo): Promise<Map<string, string>> {
  return remember(repo, "settings", () =>
    readUserConfig(repo.gitDir, "^(user\\.(name|email)|core\\.excludesfile)$"),
  );
}

/** The user's name and address: what is published is theirs. */
export async function userIdentity(repo: Repo): Promise<Identity> {
  const values = await userSettings(repo);
  const clean = (text: string | undefined) => text?.replace(/[<>\n]/g, "").trim();
  return {
    name: clean(values.get("user.name")) || "Holdfast",
    email: clean(values.get("user.email")) || "holdfast@localhost",
  };
}

/** Whether the user's HEAD has it. */
export async function isMerged(repo: Repo, commit: string): Promise<boolean> {
  return isAncestor(repo, commit, "HEAD");
}

export async function isAncestor(repo: Repo, commit: string, of: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", commit, of];
  return (await runGit({ gitDir: repo.headDir }, args, { accept: [0, 1, 128] })).exitCode === 0;
}

/** What the user's git ignores by rules that are in no commit: info/exclude, and a file of the user's own. */
export async function userExcludes(repo: Repo): Promise<string> {
  const configured = (await userSettings(repo)).get("core.excludesfile");
  const home = userHome();
  const own = configured?.replace(/^~(?=\/)/, home) ?? join(home, ".config", "git", "ignore");
  return `${readTextOr(join(repo.gitDir, "info", "exclude"), "")}\n${readTextOr(own, "")}\n`;
}

export async function hasObject(repo: Repo, id: string): Promise<boolean> {
  return (await runGit(userPlace(repo), ["cat-file", "-e", id], { accept: [0, 1, 128] })).exitCode === 0;
}

/** A file of a commit, or undefined when it has none of that name. */
export async function readCommittedBytes(
  repo: Repo,
  commit: string | null,
  path: BytePath,
): Promise<Buffer | undefined> {
  if (commit === null) return undefined;
  const args = ["cat-file", "blob", `${commit}:${toText(path)}`];
  const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 128] });
  return exitCode === 0 ? stdout : undefined;
}

export async function treeOf(repo: Repo, commit: string | null): Promise<string> {
  return remember(repo, `tree of ${commit}`, () =>
    commit === null
      ? gitLine(userPlace(repo), ["hash-object", "-t", "tree", "--stdin"], { input: [] })
      : gitLine(userPlace(repo), ["rev-parse", "--verify", `${commit}^{tree}`]),
  );
}

/** Boundaries of a shallow clone, which its borrowers need too. */
export async function readShallow(repo: Repo): Promise<Buffer | undefined> {
  const path = join(repo.gitDir, "shallow");
  return existsSync(path) ? readFile(path) : undefined;
}

/** Every path of a commit. */
export async function listCommit(
  repo: Repo,
  commit: string | null,
): Promise<{ path: BytePath; mode: string; id: string }[]> {
  if (commit === null) return [];
  const out = (await git(userPlace(repo), ["ls-tree", "-r", "-z", "--full-tree", commit])).toString("latin1");
  return out
    .split("\0")
    .filter(Boolean)
    .map((row) => {
      const [mode = "", , id = ""] = row.slice(0, row.indexOf("\t")).split(" ");
      return { path: row.slice(row.indexOf("\t") + 1), mode, id };
    });
}

export const isGitlink = ({ mode }: { readonly mode: string }) => mode === "160000";

/** Submodules: directories whose content is another repo's. */
export async function listGitlinks(repo: Repo, commit: string | null): Promise<BytePath[]> {
  return (await listCommit(repo, commit)).filter(isGitlink).map(({ path }) => path);
}
