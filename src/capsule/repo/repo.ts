/**
 * Owns what is known of the user's repo, and what is read from it. It is written in two places only: hidden
 * refs below refs/holdfast/, and the branch that is published.
 *
 * K5 Working tree, index, config, hooks and the user's branches are as they were, whatever a task does.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { userHome } from "../../process/index.ts";
import { errorCode, readPlainFile, sha256Hex } from "../../util/index.ts";
import { type BytePath, toText } from "../files/path.ts";
import { BatchReader } from "../git/batch-reader.ts";
import {
  type GitPlace,
  git,
  gitLine,
  type Identity,
  readUserConfig,
  runGit,
  type UserSetting,
} from "../git/git.ts";
import { type Discovered, discoverRepo, isWithin } from "./discover.ts";
import { missingCommit } from "./missing-commit.ts";
import { dropStaleLink, makeNoRepo, NO_REPO, noRepoDir } from "./no-repo.ts";

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
  /** Below this, refs of the user's repo keep what this home needs of it. */
  readonly holds: string;
  /** Not the user's: it stands in for one, and nothing is published to it. */
  readonly isStandIn: boolean;
}

/** The home that works on a repo: several may. */
export interface HomePlace {
  readonly dir: string;
  readonly id: string;
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

export async function openRepo(home: HomePlace, path: string): Promise<Repo> {
  if (path === noRepoDir(home)) return openStandIn(home, path);
  const found = await discoverRepo(home.dir, path);
  const { checkout } = found;
  if (checkout !== null && isWithin(checkout, home.dir)) {
    throw new HoldfastError(
      "usage",
      `the home ${home.dir} stands inside the repo ${checkout}: set HOLDFAST_HOME to another place`,
    );
  }
  const repo = describe(home, found);
  await prepare(repo);
  return repo;
}

async function openStandIn(home: HomePlace, gitDir: string): Promise<Repo> {
  await makeNoRepo(gitDir);
  const repo = describe(home, { checkout: null, gitDir, headDir: gitDir, objectFormat: "sha1" });
  await dropStaleLink(objectsLink(repo), repo.objects);
  await prepare(repo);
  return repo;
}

function describe(home: HomePlace, { checkout, gitDir, headDir, objectFormat }: Discovered): Repo {
  const name = basename(gitDir) === ".git" ? basename(dirname(gitDir)) : basename(gitDir);
  const isStandIn = gitDir === noRepoDir(home);
  const key = isStandIn
    ? NO_REPO
    : `${name.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 40)}-${sha256Hex(gitDir).slice(0, 12)}`;
  return {
    key,
    isStandIn,
    checkout,
    gitDir,
    headDir,
    objects: join(gitDir, "objects"),
    objectFormat: objectFormat === "sha256" ? "sha256" : "sha1",
    dir: join(home.dir, "repos", key),
    // By its path, too: a copy of a home has the same id, and needs other commits.
    holds: `refs/holdfast/held/${home.id}-${sha256Hex(home.dir).slice(0, 8)}`,
  };
}

/** The repos that this home has worked on, as far as they are still where they were. */
export async function listRepos(home: HomePlace): Promise<Repo[]> {
  const keys = await readdir(join(home.dir, "repos")).catch(() => []);
  const repos: Repo[] = [];
  for (const key of keys) {
    const target = await readlink(join(home.dir, "repos", key, "objects")).catch(() => undefined);
    if (target === undefined || !existsSync(target)) continue;
    const gitDir = dirname(target);
    const objectFormat = await gitLine({ gitDir }, ["rev-parse", "--show-object-format"], {
      accept: [0, 128],
    });
    repos.push(describe(home, { checkout: null, gitDir, headDir: gitDir, objectFormat }));
  }
  return repos;
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

/** The commit that a name stands for; null for the HEAD of a repo without a commit. */
export async function resolveCommit(repo: Repo, name = "HEAD"): Promise<string | null> {
  // Of this checkout, also where a name only leads to its HEAD.
  const place = { gitDir: repo.headDir };
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
  throw await missingCommit(place, name, repo.checkout ?? repo.gitDir);
}

/** Below this are the user's checkouts as they were: theirs, though the refs are ours. */
export const checkoutsIn = ({ holds }: Pick<Repo, "holds">) => holds.replace("/held/", "/checkouts/");

/** Whether a commit is the user's: reachable from a ref that is not one of ours, or a checkout of theirs. */
export async function isUsersCommit(repo: Repo, commit: string): Promise<boolean> {
  const head = remember(repo, "head", () =>
    gitLine({ gitDir: repo.headDir }, ["rev-parse", "HEAD"], { accept: [0, 128] }),
  );
  if ((await head) === commit) return true;
  return remember(repo, `whose is ${commit}`, async () => {
    // One walk from all refs at once: `for-each-ref --contains` makes one for each.
    const others = OURS.map((prefix) => `--exclude=${prefix}*`);
    const checkouts = `--glob=${checkoutsIn(repo)}/*`;
    const args = ["rev-list", "--max-count=1", commit, "--not", ...others, "--all", checkouts];
    const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 128] });
    return exitCode === 0 && stdout.length === 0;
  });
}

/** What we made in the user's repo. */
const OURS = ["refs/holdfast/", "refs/heads/holdfast/"];

const isOurs = (ref: string) => OURS.some((prefix) => ref.startsWith(prefix));

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

function userSettings(repo: Repo): Promise<UserSetting[]> {
  return remember(repo, "settings", () =>
    readUserConfig(repo.gitDir, "^(user\\.(name|email)|core\\.excludesfile)$"),
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

/** Whether the user's HEAD has it. */
export async function isMerged(repo: Repo, commit: string): Promise<boolean> {
  return isAncestor(repo, commit, "HEAD");
}

export async function isAncestor(repo: Repo, commit: string, of: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", commit, of];
  return (await runGit({ gitDir: repo.headDir }, args, { accept: [0, 1, 128] })).exitCode === 0;
}

const MAX_EXCLUDES_BYTES = 1024 * 1024;

/**
 * What the user's git ignores by rules that are in no commit: info/exclude, and a file of the user's own. A capsule
 * gets a copy of both, so which file that is, only the user may say, and not the repo.
 */
export async function userExcludes(repo: Repo): Promise<string> {
  const settings = (await userSettings(repo)).filter(({ isRepos }) => !isRepos);
  const configured = settings.findLast(({ name }) => name === "core.excludesfile")?.value;
  const home = userHome();
  const own = configured?.replace(/^~(?=\/)/, home) ?? join(home, ".config", "git", "ignore");
  const texts = [
    readPlainFile(join(repo.gitDir, "info", "exclude"), { maxBytes: MAX_EXCLUDES_BYTES }),
    readPlainFile(own, { maxBytes: MAX_EXCLUDES_BYTES, followLinks: true }),
  ];
  return texts.map((text) => `${text?.toString("utf8") ?? ""}\n`).join("");
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

/** Whether a commit has a directory of that name, through links in it too; where one leads out, it may have. */
export async function hasDirectory(repo: Repo, commit: string | null, path: string): Promise<boolean> {
  if (commit === null) return false;
  const args = ["cat-file", "--batch-check=%(objecttype)", "--follow-symlinks"];
  const input = [Buffer.from(`${commit}:${path}\n`)];
  const answer = await gitLine(userPlace(repo), args, { input });
  return answer === "tree" || answer.startsWith("symlink ") || path.includes("\n");
}

export async function treeOf(repo: Repo, commit: string | null): Promise<string> {
  return remember(repo, `tree of ${commit}`, () =>
    commit === null
      ? gitLine(userPlace(repo), ["hash-object", "-t", "tree", "--stdin"], { input: [] })
      : gitLine(userPlace(repo), ["rev-parse", "--verify", `${commit}^{tree}`]),
  );
}

const MAX_SHALLOW_BYTES = 16 * 1024 * 1024;

/** Boundaries of a shallow clone, which its borrowers need too: ids of commits, one on each line. */
export function readShallow(repo: Repo): Buffer | undefined {
  const bytes = readPlainFile(join(repo.gitDir, "shallow"), { maxBytes: MAX_SHALLOW_BYTES });
  return bytes && /^([0-9a-f]{40,64}\n)*$/.test(bytes.toString("latin1")) ? bytes : undefined;
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

/** Of these paths, those that a commit has with CRLF. */
export async function committedCrlf(
  repo: Repo,
  commit: string | null,
  paths: readonly BytePath[],
): Promise<ReadonlySet<BytePath>> {
  const wanted = new Set(paths);
  const found = new Set<BytePath>();
  if (wanted.size === 0) return found;
  const there = (await listCommit(repo, commit)).filter(
    (one) => wanted.has(one.path) && one.mode.startsWith("100"),
  );
  let isAfterCr = false;
  const reader = new BatchReader((index, bytes, isLast) => {
    const hasCrlf = bytes.includes("\r\n") || (isAfterCr && bytes[0] === 0x0a);
    if (hasCrlf) found.add(there[index]?.path ?? "");
    isAfterCr = !isLast && bytes.at(-1) === 0x0d;
  });
  const input = [Buffer.from(there.map(({ id }) => `${id}\n`).join(""))];
  if (there.length > 0)
    await git(userPlace(repo), ["cat-file", "--batch", "--buffer"], {
      input,
      onOutput: (chunk) => reader.push(chunk),
    });
  return found;
}
