/**
 * Owns the quarantine of an agent's own commits: they are packed inside the task's sandbox, and unpacked in a gitdir that
 * knows the user's objects and nothing else, where git checks them and the caller judges them. What the caller does not
 * take from there goes away with it.
 *
 * keep-1 A pack with an object that is not as it should be, or that names one which is neither in it nor the user's, is
 *        refused as a whole.
 * keep-5 What a few bytes of a pack can stand for is bounded before it is read: the text of a commit, and the files that
 *        its trees change.
 */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { removeTree } from "../files/directories.ts";
import { makeEmptyGitdir } from "../git/confined.ts";
import { git } from "../git/git.ts";
import type { Capsule } from "../life/capsule.ts";
import { treeOf } from "../repo/commits.ts";
import { objectsLink } from "../repo/repo.ts";
import { makeAside } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { type PackRequest, takeAgentsInto, withPack } from "./agent-commits.ts";
import { MAX_COMMITS, type ReadCommit, readCommits } from "./commit-text.ts";

/** A commit to be judged. */
export interface CommitToJudge extends ReadCommit {
  /** The tree that it is compared with: that of its first parent, or the empty one. */
  readonly onTree: string;
}

/** Makes the error in which a refusal is reported. */
export type Refusing = (why: string) => HoldfastError;

const MAX_TEXT_BYTES = 1024 * 1024;
/** Of a list of all files that the commits change, each by its path and ids. */
const MAX_LIST_BYTES = 128 * 1024 * 1024;
/** Git has the files of one commit in memory before it lists them: that is half a million. */
const MAX_ALLOC_BYTES = 4 * 1024 * 1024;
const LIST_TIMEOUT_MS = 2 * 60_000;

/** `pack`: what is to be packed; undefined if the user's repo has all of it. */
export async function inQuarantine<T>(
  capsule: Capsule,
  pack: PackRequest | undefined,
  refused: Refusing,
  work: (quarantine: Store) => Promise<T>,
): Promise<T> {
  const store = await capsule.store();
  const aside = await makeAside(store);
  try {
    const quarantine = await makeQuarantine(capsule, store, aside);
    const taking = pack && withPack(capsule, pack, (path) => takeAgentsInto(quarantine, path));
    await taking?.catch((error: unknown) => {
      throw error instanceof HoldfastError ? refused(error.message) : error;
    });
    return await work(quarantine);
  } finally {
    await removeTree(aside);
  }
}

async function makeQuarantine({ repo }: Capsule, store: Store, aside: string): Promise<Store> {
  const gitDir = join(aside, "gitdir");
  await makeEmptyGitdir(gitDir, repo.objectFormat);
  await mkdir(packsIn({ gitDir }));
  return { ...store, gitDir, alternates: [objectsLink(repo)] };
}

/** The directory with what was taken in. */
export const packsIn = ({ gitDir }: Pick<Store, "gitDir">) => join(gitDir, "objects", "pack");

/** The packs that were taken in. */
export async function packFiles(quarantine: Store): Promise<string[]> {
  const names = await readdir(packsIn(quarantine));
  return names.filter((name) => name.endsWith(".pack")).map((name) => join(packsIn(quarantine), name));
}

/** Reads commits of the quarantine, if they are within bounds. `more`: other trees that will be compared. */
export async function readNewCommits(
  { repo }: Capsule,
  quarantine: Store,
  ids: readonly string[],
  refused: Refusing,
  more: readonly (readonly [from: string, to: string])[] = [],
): Promise<CommitToJudge[]> {
  if (ids.length > MAX_COMMITS) throw refused(`the agent has made more than ${MAX_COMMITS} commits`);
  await assertShort(quarantine, ids, refused);
  const commits = await readCommits(quarantine, ids);
  const trees = new Map(commits.map(({ id, tree }) => [id, tree]));
  const others = commits.flatMap(({ parents: [first] }) => (first && !trees.has(first) ? [first] : []));
  for (const { id, tree } of await readCommits(quarantine, [...new Set(others)])) trees.set(id, tree);
  const nothing = await treeOf(repo, null);
  const read = commits.map((commit) => ({
    ...commit,
    onTree: trees.get(commit.parents[0] ?? "") ?? nothing,
  }));
  await assertFewChanges(
    quarantine,
    [...more, ...read.map(({ onTree, tree }) => [onTree, tree] as const)],
    refused,
  );
  return read;
}

/** A pack of some kilobytes may have a message of gigabytes. */
async function assertShort(quarantine: Store, ids: readonly string[], refused: Refusing): Promise<void> {
  const input = [Buffer.from(ids.map((id) => `${id}\n`).join(""))];
  const out = await git(quarantine, ["cat-file", "--batch-check=%(objectname) %(objectsize)"], { input });
  for (const [id = "", size] of out
    .toString("utf8")
    .split("\n")
    .map((row) => row.split(" ")))
    if (Number(size) > MAX_TEXT_BYTES)
      throw refused(`the text of commit ${id.slice(0, 12)} has more than ${MAX_TEXT_BYTES / 1024 / 1024} MB`);
}

/** Some trees that have each other more than once stand for more files than can be listed. */
async function assertFewChanges(
  quarantine: Store,
  pairs: readonly (readonly [from: string, to: string])[],
  refused: Refusing,
): Promise<void> {
  const tooMuch = refused("the agent's commits change too much to be looked through");
  let bytes = 0;
  const onOutput = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_LIST_BYTES) throw tooMuch;
  };
  const bounds = { onOutput, maxAllocBytes: MAX_ALLOC_BYTES, timeoutMs: LIST_TIMEOUT_MS };
  const args = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames"];
  const input = [Buffer.from(pairs.map((pair) => `${pair.join(" ")}\n`).join(""))];
  await git(quarantine, args, { ...bounds, input }).catch((error: unknown) => {
    throw isHoldfastError(error, "git_failed") ? tooMuch : error;
  });
}
