/**
 * Owns the base cache: checkouts that many capsules stand on, with the results of `capsule.setup`. Each is
 * built once, in a directory of its own, and never changes after that. All of it can be built again.
 *
 * base-1 A base is there whole or not at all, and one that a capsule stands on is never removed.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../../process/index.ts";
import {
  type Clock,
  createFile,
  type Disk,
  isAlive,
  namedIn,
  type OnProgress,
  openSealedJson,
  readIfThere,
  sealJson,
  sha256Hex,
  tellStep,
  withFileLock,
} from "../../util/index.ts";
import { removeTree, syncFileSystem } from "../files/directories.ts";
import { giveTo } from "../files/ownership.ts";
import { type BytePath, decodePath, encodePath } from "../files/path.ts";
import { makeShareable } from "../files/share.ts";
import { checkOut } from "../git/check-out.ts";
import { git } from "../git/git.ts";
import { makeGitdir, type Surroundings } from "../gitdir/gitdir.ts";
import { listCommit, listGitlinks, treeOf } from "../repo/commits.ts";
import { isAncestor } from "../repo/refs.ts";
import { type Repo, userPlace } from "../repo/repo.ts";
import type { RunSetup } from "./setup.ts";

export interface Base {
  readonly key: string;
  readonly commit: string | null;
  readonly setupKey: string;
  readonly tree: string;
  readonly index: string;
}

export interface BaseRequest {
  readonly commit: string | null;
  /** If it is empty, nothing is installed. */
  readonly setup: string;
  /** The hosts that set-up may reach: with other hosts it may install something else. */
  readonly setupHosts: readonly string[];
  /**
   * A commit that is not the user's stands on a base near it, or gets a base of its own that no other session
   * uses.
   */
  readonly privateTo: string | undefined;
  readonly surroundings: Surroundings;
  /** The sandbox that it is built in. Its files belong to the sandbox's user. */
  readonly sandbox: Sandbox | undefined;
  readonly runSetup: RunSetup;
  /** No base of a commit near it will do. */
  readonly isExact?: boolean;
  /** Ends the wait for another process that builds the same base. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: OnProgress | undefined;
}

interface BaseIo {
  readonly disk: Disk;
  readonly clock: Clock;
}

/** Files that decide what an installation gives, in any directory. So do files that the command names. */
const MANIFESTS =
  /(^|\/)(package(-lock)?\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|pnpm-workspace\.yaml|bun\.lockb?|\.npmrc|requirements[^/]*\.txt|pyproject\.toml|poetry\.lock|uv\.lock|Pipfile(\.lock)?|Gemfile(\.lock)?|go\.(mod|sum)|Cargo\.(toml|lock)|composer\.(json|lock)|mix\.(exs|lock)|\.tool-versions|\.nvmrc|\.yarnrc\.yml|setup\.(py|cfg)|environment\.ya?ml|deno\.lock)$/;
/** Whether a change of a path changes what this set-up installs. */
export function isInputOf(setup: string): (path: string) => boolean {
  const named = new Set(namedIn(setup));
  return (path) => MANIFESTS.test(path) || named.has(path);
}

/** Above this many files, a commit gets a base of its own. */
const NEAR_FILES = 500;
const NEAR_CANDIDATES = 3;

export const basesDir = (repo: Pick<Repo, "dir">) => join(repo.dir, "bases");
const INFO_FILE = "base.json";
const BUILDING = "building-";

export function openBase(
  repo: Pick<Repo, "dir">,
  key: string,
): Pick<Base, "tree" | "index"> & { dir: string } {
  const dir = join(basesDir(repo), key);
  return { dir, tree: join(dir, "tree"), index: join(dir, "index") };
}

/** The base for a commit: an existing one, one that is near enough, or a new one. */
export async function ensureBase(repo: Repo, { disk, clock }: BaseIo, request: BaseRequest): Promise<Base> {
  const key = keyOf(repo, request);
  const there = await readBase(repo, key);
  if (there) return touched(there, repo, clock);
  await mkdir(basesDir(repo), { recursive: true, mode: 0o700 });
  const { signal } = request;
  tellStep(request.onProgress, "waiting for the base");
  // One process builds it. The others wait, and use what it built.
  const lockPath = join(basesDir(repo), `${key}.lock`);
  const find = async () => {
    const meanwhile = await readBase(repo, key);
    if (meanwhile) return meanwhile;
    const setupKey = await setupKeyOf(repo, request);
    const near = request.isExact ? undefined : await nearBase(repo, request, setupKey, clock);
    // A private base has a name of its own, so that it is not found as a base near another commit.
    const { privateTo } = request;
    return (
      near ?? build(repo, disk, key, privateTo === undefined ? setupKey : `${setupKey}-${privateTo}`, request)
    );
  };
  return withFileLock(lockPath, find, { signal });
}

function keyOf({ checkout }: Repo, request: BaseRequest): string {
  const { commit, setup, privateTo, sandbox } = request;
  const user = sandbox?.user ? [sandbox.user.uid, sandbox.user.gid] : [];
  const facts = [commit, setup, setup && checkout, privateTo ?? null, ...reached(request), ...user];
  return sha256Hex(JSON.stringify(facts)).slice(0, 32);
}

/** Empty if set-up reaches no host. The name is then the same as in earlier versions. */
const reached = ({ setup, setupHosts }: BaseRequest) =>
  setup === "" || setupHosts.length === 0 ? [] : [[...setupHosts].sort()];

async function readInfo(repo: Repo, key: string): Promise<Record<string, unknown> | undefined> {
  const bytes = await readIfThere(join(openBase(repo, key).dir, INFO_FILE));
  return bytes && openSealedJson(bytes);
}

/** Submodules of the base's commit. */
export async function baseGitlinks(repo: Repo, key: string): Promise<BytePath[]> {
  const gitlinks = (await readInfo(repo, key))?.["gitlinks"];
  return Array.isArray(gitlinks) ? gitlinks.map(decodePath) : [];
}

async function readBase(repo: Repo, key: string): Promise<Base | undefined> {
  const { tree, index } = openBase(repo, key);
  const info = await readInfo(repo, key);
  if (!info) return undefined;
  const { commit, setupKey } = info;
  return { key, commit: typeof commit === "string" ? commit : null, setupKey: String(setupKey), tree, index };
}

/** The time of the last use decides which base is collected first. */
async function touched(base: Base, repo: Repo, clock: Clock): Promise<Base> {
  const now = new Date(clock.nowMs());
  await utimes(join(openBase(repo, base.key).dir, INFO_FILE), now, now).catch(() => {});
  return base;
}

async function setupKeyOf(repo: Repo, request: BaseRequest): Promise<string> {
  const { commit, setup } = request;
  if (setup === "") return "none";
  const files = await listInputs(repo, commit, setup);
  return sha256Hex(JSON.stringify([setup, repo.checkout, files, ...reached(request)])).slice(0, 32);
}

async function listInputs(repo: Repo, commit: string | null, setup: string): Promise<string[]> {
  const all = await listCommit(repo, commit);
  const isInput = isInputOf(setup);
  return all.filter(({ path }) => isInput(path)).map(({ id, path }) => `${id} ${path}`);
}

/** A base with the same installation, a few changed files away. Those files go into the capsule instead. */
async function nearBase(
  repo: Repo,
  { commit }: BaseRequest,
  setupKey: string,
  clock: Clock,
): Promise<Base | undefined> {
  if (commit === null) return undefined;
  const others = (await listBases(repo)).filter((base) => base.setupKey === setupKey && base.commit !== null);
  for (const base of others.slice(0, NEAR_CANDIDATES)) {
    // Anyone who has the commit has its ancestors too, so a snapshot can go wherever the commit is.
    if (!(await isAncestor(repo, base.commit ?? "", commit))) continue;
    const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", base.commit ?? "", commit];
    const out = (await git(userPlace(repo), args).catch(() => undefined))?.toString("latin1");
    // The commit that a submodule points to is in no file.
    if (
      out === undefined ||
      out.split("\0").length > 2 * NEAR_FILES ||
      /(^|\0):(160000|\d+ 160000)/.test(out)
    )
      continue;
    return touched(base, repo, clock);
  }
  return undefined;
}

async function build(
  repo: Repo,
  disk: Disk,
  key: string,
  setupKey: string,
  request: BaseRequest,
): Promise<Base> {
  const { commit, surroundings, setup, sandbox, onProgress } = request;
  const final = openBase(repo, key);
  const building = join(basesDir(repo), `${BUILDING}${process.pid}-${randomUUID().slice(0, 8)}`);
  try {
    const tree = join(building, "tree");
    await mkdir(building, { mode: 0o700 });
    await makeShareable(tree);
    const gitDir = join(building, "gitdir");
    await makeGitdir({ path: gitDir, repo, surroundings, branch: "base", commit });
    for (const dir of [gitDir, tree]) giveTo(sandbox?.user, dir);
    await checkOut({ gitDir, workTree: tree }, commit ?? (await treeOf(repo, null)), {
      what: "the base",
      onProgress,
      sandbox,
    });
    if (setup !== "") {
      await request.runSetup({ tree, work: building, command: setup });
      // A gitdir that set-up made would show through the gitdir of every capsule.
      await removeTree(join(tree, ".git"));
    }
    await rename(join(gitDir, "index"), join(building, "index"));
    await rm(gitDir, { recursive: true });
    for (const scratch of ["home", "tmp"]) await removeTree(join(building, scratch));
    tellStep(onProgress, "syncing the base to disk");
    // A base that lost its last bytes in a power failure would be wrong for every later capsule.
    await syncFileSystem(building);
    const gitlinks = (await listGitlinks(repo, commit)).map(encodePath);
    await createFile(disk, join(building, INFO_FILE), sealJson({ commit, setupKey, gitlinks }));
    await disk.syncDir(building);
    await disk.rename(building, final.dir);
    await disk.syncDir(basesDir(repo));
  } catch (error) {
    await removeTree(building);
    throw error;
  }
  return { key, commit, setupKey, tree: final.tree, index: final.index };
}

/** Most recently used first. */
export async function listBases(repo: Repo): Promise<(Base & { usedAtMs: number })[]> {
  if (!existsSync(basesDir(repo))) return [];
  const bases: (Base & { usedAtMs: number })[] = [];
  for (const key of (await readdir(basesDir(repo))).filter((name) => /^[0-9a-f]{32}$/.test(name))) {
    const base = await readBase(repo, key);
    if (base) bases.push({ ...base, usedAtMs: (await stat(join(basesDir(repo), key, INFO_FILE))).mtimeMs });
  }
  return bases.sort((a, b) => b.usedAtMs - a.usedAtMs);
}

/** What builders left that were killed. */
export async function abandonedBuilds(repo: Pick<Repo, "dir">): Promise<string[]> {
  const names = (await readdir(basesDir(repo)).catch(() => [])).filter((name) => name.startsWith(BUILDING));
  const isLeft = (name: string) => !isAlive({ pid: Number(name.split("-")[1]), startTicks: null });
  return names.filter(isLeft).map((name) => join(basesDir(repo), name));
}
