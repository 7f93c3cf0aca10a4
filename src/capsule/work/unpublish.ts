/**
 * Owns what becomes of a session's branches when the session goes for good: whether their commits are anywhere else,
 * and their deletion.
 *
 * K25 A branch is deleted from a commit that we put there, never with a person's commits on it, and never while a
 *     working tree has it checked out.
 */
import { HoldfastError } from "../../contract/index.ts";
import { runGit } from "../git/git.ts";
import { type Repo, userPlace } from "../repo/repo.ts";
import { branchTip } from "./publish.ts";
import { checkedOutIn } from "./work-trees.ts";

export interface OwnBranch {
  readonly name: string;
  /** Commits that we put there, as the journal says. */
  readonly ours: readonly string[];
}

export interface FoundBranch {
  readonly name: string;
  readonly tip: string;
  /** Why it is not deleted, whoever asks; null where it can be. */
  readonly stays: string | null;
}

const BRANCHES = "holdfast/";

/** Undefined where there is no such branch any more. */
export async function findBranch(repo: Repo, { name, ours }: OwnBranch): Promise<FoundBranch | undefined> {
  const tip = await branchTip(repo, name);
  if (tip === undefined) return undefined;
  // Whoever wrote the journal.
  if (!name.startsWith(BRANCHES)) return { name, tip, stays: "it has no name of ours" };
  if (!ours.includes(tip)) return { name, tip, stays: "it has commits of a person's" };
  const place = await checkedOutIn(repo, name);
  return { name, tip, stays: place === undefined ? null : `it is checked out in ${place}` };
}

/** Only from where it was found. */
export async function deleteBranch(repo: Repo, { name, tip }: FoundBranch): Promise<void> {
  const args = ["update-ref", "-d", `refs/heads/${name}`, tip];
  const { exitCode, stderr } = await runGit(userPlace(repo), args, { accept: [0, 1, 128] });
  if (exitCode !== 0)
    throw new HoldfastError("git_failed", `the branch ${name} could not be deleted: ${stderr.trim()}`);
}

/** Whether refs of the user's have all of these commits: not our hidden ones, nor branches that are to go. */
export async function areKept(
  repo: Repo,
  commits: readonly string[],
  { without }: { readonly without: readonly string[] },
): Promise<boolean> {
  if (commits.length === 0) return true;
  const excluded = ["refs/holdfast/*", ...without.map((name) => `refs/heads/${name}`)];
  const args = ["rev-list", "--max-count=1", ...commits, "--not"];
  args.push(...excluded.map((pattern) => `--exclude=${pattern}`), "--all");
  const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 128] });
  return exitCode === 0 && stdout.length === 0;
}
