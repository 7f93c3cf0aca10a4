/**
 * Owns the way of an agent's own commits into the store, for a merge that keeps them: packed inside the task's sandbox,
 * unpacked in a quarantine that knows the user's objects and nothing else, checked by git and judged by the caller. Only
 * then are they in the store; the user's repo has nothing of them until it is moved.
 *
 * keep-1 A pack with an object that is not as it should be, or that names one which is neither in it nor the user's, is
 *        refused as a whole.
 * keep-2 What is kept is a line of commits that stands on a commit which is known: not on one that the agent names.
 * keep-5 What a few bytes of a pack can stand for is bounded before it is read: the text of a commit, and the files that
 *        its trees change.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { removeTree } from "../files/directories.ts";
import { makeEmptyGitdir } from "../git/confined.ts";
import { git, gitLine } from "../git/git.ts";
import type { Capsule } from "../life/capsule.ts";
import { objectsLink } from "../repo/repo.ts";
import { makeAside, takeIn } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { agentHead, takeAgentsInto, withPack } from "./agent-commits.ts";
import { type ReadCommit, readCommits } from "./commit-text.ts";

export interface OwnCommits {
  /** What the work stands on in the user's repo. */
  readonly base: string;
  /** Where the agent's git stood when the work was last merged: what came before is in the user's repo, however it looks. */
  readonly merged: string | undefined;
  readonly maxBytes: number;
  /** Called while they are in quarantine; what it throws keeps them out. */
  readonly judge: (line: LinedCommits, quarantine: Store) => Promise<void>;
}

/** From the first after `on` to `tip`, along first parents: a merge stands for all that it brought. */
export interface LinedCommits {
  readonly on: string;
  readonly onTree: string;
  readonly tip: string;
  readonly commits: readonly ReadCommit[];
}

const MAX_COMMITS = 1000;
const MAX_TEXT_BYTES = 1024 * 1024;
/** Of a list of all files that the commits change, each by its path and ids. */
const MAX_LIST_BYTES = 128 * 1024 * 1024;
/** Git has the files of one commit in memory before it lists them: that is half a million. */
const MAX_ALLOC_BYTES = 4 * 1024 * 1024;
const LIST_TIMEOUT_MS = 2 * 60_000;

export async function takeCommits(
  capsule: Capsule,
  { base, merged, maxBytes, judge }: OwnCommits,
): Promise<LinedCommits> {
  const tip = await agentHead(capsule);
  if (tip === undefined || tip === base || tip === merged)
    throw refused("the agent has made no commit of its own");
  const store = await capsule.store();
  const aside = await makeAside(store);
  try {
    const quarantine = await makeQuarantine(capsule, store, aside);
    const known = [base];
    await withPack(capsule, { commit: tip, known, maxBytes }, (pack) =>
      takeAgentsInto(quarantine, pack),
    ).catch((error: unknown) => {
      throw error instanceof HoldfastError ? refused(error.message) : error;
    });
    const line = await lineOf(quarantine, tip, [base, ...(merged === undefined ? [] : [merged])]);
    await judge(line, quarantine);
    await takeIn(store, join(quarantine.gitDir, "objects", "pack"));
    return line;
  } finally {
    await removeTree(aside);
  }
}

async function makeQuarantine({ repo }: Capsule, store: Store, aside: string): Promise<Store> {
  const gitDir = join(aside, "gitdir");
  await makeEmptyGitdir(gitDir, repo.objectFormat);
  await mkdir(join(gitDir, "objects", "pack"));
  return { ...store, gitDir, alternates: [objectsLink(repo)] };
}

async function lineOf(quarantine: Store, tip: string, grounds: readonly string[]): Promise<LinedCommits> {
  // Where the work was merged before, that commit is the agent's: it is there if the agent's line leads to it.
  const there: string[] = [];
  for (const ground of grounds) if (await isThere(quarantine, ground)) there.push(ground);
  const args = ["rev-list", "--first-parent", "--reverse", `--max-count=${MAX_COMMITS + 1}`, tip, "--not"];
  const ids = (await gitLine(quarantine, [...args, ...there])).split("\n").filter(Boolean);
  if (ids.length > MAX_COMMITS) throw refused(`the agent has made more than ${MAX_COMMITS} commits`);
  if (ids.length === 0) throw refused("the agent has made no commit of its own");
  await assertShort(quarantine, ids);
  const commits = await readCommits(quarantine, ids);
  const on = commits[0]?.parents[0];
  if (on === undefined || !grounds.includes(on))
    throw refused(
      `the agent's commits do not stand on ${grounds[0]?.slice(0, 12)}, which its work begins with: ${on === undefined ? "they begin with nothing" : `they stand on ${on.slice(0, 12)}`}`,
    );
  const [ground, base] = await readCommits(quarantine, [on, ...grounds.slice(0, 1)]);
  const line = { on, onTree: ground?.tree ?? "", tip, commits };
  await assertFewChanges(quarantine, [base?.tree ?? "", line.onTree, ...commits.map(({ tree }) => tree)]);
  return line;
}

/** A pack of some kilobytes may have a message of gigabytes. */
async function assertShort(quarantine: Store, ids: readonly string[]): Promise<void> {
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
async function assertFewChanges(quarantine: Store, trees: readonly string[]): Promise<void> {
  const tooMuch = refused("the agent's commits change too much to be looked through");
  const pairs = trees.slice(1).map((tree, at) => `${trees[at]} ${tree}\n`);
  let bytes = 0;
  const onOutput = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_LIST_BYTES) throw tooMuch;
  };
  const bounds = { onOutput, maxAllocBytes: MAX_ALLOC_BYTES, timeoutMs: LIST_TIMEOUT_MS };
  const args = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames"];
  await git(quarantine, args, { ...bounds, input: [Buffer.from(pairs.join(""))] }).catch((error: unknown) => {
    throw isHoldfastError(error, "git_failed") ? tooMuch : error;
  });
}

async function isThere(quarantine: Store, commit: string): Promise<boolean> {
  const args = ["cat-file", "-t", commit];
  return gitLine(quarantine, args).then(
    (type) => type === "commit",
    () => false,
  );
}

function refused(why: string): HoldfastError {
  return new HoldfastError("merge_refused", `${why}: it can be merged without --keep-commits`);
}
