/**
 * Owns what becomes of a session's branches when the session is removed: whether their commits exist anywhere
 * else, and their deletion.
 *
 * publish-3 A branch is deleted only from a commit that Holdfast put there, never with a person's commits on
 *    it, and never while a working tree has it checked out.
 */
import { HoldfastError } from "../../contract/index.ts";
import { runGit } from "../git/git.ts";
import { type Repo, userPlace } from "../repo/repo.ts";
import { branchTip } from "./publish.ts";
import { checkedOutIn } from "./work-trees.ts";

export interface OwnBranch {
  readonly name: string;
  /** Commits that Holdfast put there, according to the journal. */
  readonly ours: readonly string[];
}

export interface FoundBranch {
  readonly name: string;
  readonly tip: string;
  /** Why it can't be deleted at all; null if it can. */
  readonly stays: string | null;
}

const BRANCHES = "holdfast/";

/** Undefined if there is no such branch any more. */
export async function findBranch(repo: Repo, { name, ours }: OwnBranch): Promise<FoundBranch | undefined> {
  const tip = await branchTip(repo, name);
  if (tip === undefined) return undefined;
  // The journal may come from elsewhere.
  if (!name.startsWith(BRANCHES)) return { name, tip, stays: "its name is not one that Holdfast gives" };
  if (!ours.includes(tip)) return { name, tip, stays: "it has commits that a person made" };
  const place = await checkedOutIn(repo, name);
  return { name, tip, stays: place === undefined ? null : `it is checked out in ${place}` };
}

/** Only from the commit where it was found. */
export async function deleteBranch(repo: Repo, { name, tip }: FoundBranch): Promise<void> {
  const args = ["update-ref", "-d", `refs/heads/${name}`, tip];
  const { exitCode, stderr } = await runGit(userPlace(repo), args, { accept: [0, 1, 128] });
  if (exitCode !== 0)
    throw new HoldfastError("git_failed", `the branch ${name} could not be deleted: ${stderr.trim()}`);
}

/**
 * Whether refs of the user have all of these commits. Our hidden refs do not count, nor do branches that will
 * be deleted.
 */
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
