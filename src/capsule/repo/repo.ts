/**
 * Owns which repo of the user is meant, and what this home keeps for it. Holdfast writes to the repo in two
 * places only: hidden refs below refs/holdfast/, and the branch that is published.
 *
 * repo-1 Working tree, index, config, hooks and the user's branches stay as they were, whatever a task does.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { errorCode, isWithin, reposDir, sha256Hex } from "../../util/index.ts";
import { type GitPlace, gitLine } from "../git/git.ts";
import { type Discovered, discoverRepo } from "./discover.ts";
import { dropStaleLink, makeNoRepo, NO_REPO, noRepoDir } from "./no-repo.ts";

export interface Repo {
  /** The name of its directory in the home. */
  readonly key: string;
  /** The top of the checkout that the user named; null for a bare repo. */
  readonly checkout: string | null;
  /** Where its refs and objects are. */
  readonly gitDir: string;
  readonly objects: string;
  /** Where the HEAD is of the checkout that the user named. */
  readonly headDir: string;
  readonly objectFormat: "sha1" | "sha256";
  /** `repos/<key>` in the home: its store, bases and layers. */
  readonly dir: string;
  /** The name of the home that works on it. No other home has the same name, and neither does a copy. */
  readonly homeName: string;
  /** Refs of the user's repo below this keep what this home needs of it. */
  readonly holds: string;
  /** It is not the user's: it stands in for a repo, and nothing is published to it. */
  readonly isStandIn: boolean;
}

/** The home that works on a repo. A repo may have several. */
export interface HomePlace {
  readonly dir: string;
  readonly id: string;
}

/** The path counts too: a copy of a home has the same id, and needs other commits. */
export const homeName = ({ id, dir }: HomePlace) => `${id}-${sha256Hex(dir).slice(0, 8)}`;
export const objectsLink = (repo: Pick<Repo, "dir">) => join(repo.dir, "objects");
export const repoLock = (repo: Pick<Repo, "dir">) => join(repo.dir, "lock");
/** Held by the process that merges into a branch of the repo: one at a time. */
export const mergeLock = (repo: Pick<Repo, "dir">) => join(repo.dir, "merge.lock");
export const userPlace = ({ gitDir }: Pick<Repo, "gitDir">): GitPlace => ({ gitDir });
/** A gitdir of ours, where git also finds the objects of the user's repo. */
export const withUsersObjects = <P extends GitPlace>(place: P, repo: Pick<Repo, "dir">): P => ({
  ...place,
  alternates: [...(place.alternates ?? []), objectsLink(repo)],
});

const remembered = new WeakMap<Repo, Map<string, Promise<unknown>>>();

/**
 * For values that can't change, or need not be read twice during one piece of work: a repo is opened anew for
 * the next one. A failure is not remembered.
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

export function isRemembered(repo: Repo, what: string): boolean {
  return remembered.get(repo)?.has(what) ?? false;
}

export async function openRepo(home: HomePlace, path: string): Promise<Repo> {
  if (path === noRepoDir(home)) return openStandIn(home, path);
  const found = await discoverRepo(home.dir, path);
  const { checkout } = found;
  if (checkout !== null && isWithin(checkout, home.dir)) {
    throw new HoldfastError(
      "usage",
      `the home ${home.dir} is inside the repo ${checkout}: set HOLDFAST_HOME to another place`,
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
    dir: join(reposDir(home.dir), key),
    homeName: homeName(home),
    holds: `refs/holdfast/held/${homeName(home)}`,
  };
}

/** The repos that this home has worked on, as far as they are still in the same place. */
export async function listRepos(home: HomePlace): Promise<Repo[]> {
  const keys = await readdir(reposDir(home.dir)).catch(() => []);
  const repos: Repo[] = [];
  for (const key of keys) {
    const target = await readlink(objectsLink({ dir: join(reposDir(home.dir), key) })).catch(() => undefined);
    if (target === undefined || !existsSync(target)) continue;
    const gitDir = dirname(target);
    const objectFormat = await gitLine({ gitDir }, ["rev-parse", "--show-object-format"], {
      accept: [0, 128],
    });
    repos.push(describe(home, { checkout: null, gitDir, headDir: gitDir, objectFormat }));
  }
  return repos;
}

/**
 * A link to the user's objects whose path is the same inside a sandbox, where the checkout's own path is
 * taken.
 */
async function prepare(repo: Repo): Promise<void> {
  for (const path of [dirname(repo.dir), repo.dir])
    await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
  await symlink(repo.objects, objectsLink(repo)).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
  });
}
