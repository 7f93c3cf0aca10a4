/**
 * Owns reading the user's refs: which commit a name stands for, which commits are the user's, and which comes
 * before which.
 */
import { git, gitLine, runGit } from "../git/git.ts";
import { readLooseTree } from "../git/loose-object.ts";
import { isTreeKnown, rememberTree } from "./commits.ts";
import { readHead } from "./head.ts";
import { missingCommit } from "./missing-commit.ts";
import { type Repo, remember, userPlace } from "./repo.ts";

/** The commit that a name stands for; null for the HEAD of a repo without a commit. */
export async function resolveCommit(repo: Repo, name = "HEAD"): Promise<string | null> {
  const head = name === "HEAD" ? readHead(repo) : undefined;
  // Asked at every checkpoint, and usually unchanged.
  if (head !== undefined && isTreeKnown(repo, head)) return head;
  const tree = head === undefined ? undefined : readLooseTree(repo.objects, repo.objectFormat, head);
  if (head !== undefined && tree !== undefined) return rememberHead(repo, head, tree);
  // From this checkout, even if a name only leads to its HEAD.
  const place = { gitDir: repo.headDir };
  const args = ["log", "--no-walk", "--format=%H %T", "--end-of-options", `${name}^{commit}`, "--"];
  const { exitCode, stdout } = await runGit(place, args, { accept: [0, 1, 128] });
  if (exitCode === 0) {
    const [commit = "", tree = ""] = stdout.toString("utf8").trim().split(" ");
    if (name === "HEAD") return rememberHead(repo, commit, tree);
    rememberTree(repo, commit, tree);
    return commit;
  }
  if (
    name === "HEAD" &&
    (await runGit(place, ["symbolic-ref", "-q", "HEAD"], { accept: [0, 1, 128] })).exitCode === 0
  )
    return null;
  throw await missingCommit(place, name, repo.checkout ?? repo.gitDir);
}

function rememberHead(repo: Repo, commit: string, tree: string): string {
  rememberTree(repo, commit, tree);
  remember(repo, "head", async () => commit);
  return commit;
}

/** All refs that are not ours, and the checkouts of the user, as arguments of `rev-list`. */
export const usersRefs = (repo: Pick<Repo, "holds">): readonly string[] => [
  ...OURS.map((prefix) => `--exclude=${prefix}*`),
  "--all",
  `--glob=${checkoutsIn(repo)}/*`,
];

/** Refs below this keep the user's checkouts. The commits are the user's, though the refs are ours. */
export const checkoutsIn = ({ holds }: Pick<Repo, "holds">) => holds.replace("/held/", "/checkouts/");

/** Whether a commit is the user's: reachable from a ref that is not one of ours, or a checkout of theirs. */
export async function isUsersCommit(repo: Repo, commit: string): Promise<boolean> {
  const head = remember(repo, "head", () =>
    gitLine({ gitDir: repo.headDir }, ["rev-parse", "HEAD"], { accept: [0, 128] }),
  );
  if ((await head) === commit) return true;
  return remember(repo, `whose is ${commit}`, async () => {
    // One walk from all refs at once: `for-each-ref --contains` makes one for each.
    const args = ["rev-list", "--max-count=1", commit, "--not", ...usersRefs(repo)];
    const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 128] });
    return exitCode === 0 && stdout.length === 0;
  });
}

/**
 * The commits of a session's branch that another commit does not have, oldest first, along first parents; and
 * the commit that they stand on. Other refs make no difference: the session's branch may have been pushed,
 * or be checked out.
 */
export async function ownCommits(
  repo: Repo,
  tip: string,
  beyond: string,
): Promise<{ readonly ids: readonly string[]; readonly base: string | undefined }> {
  const args = ["rev-list", "--first-parent", "--reverse", "--parents", tip, "--not", beyond];
  const rows = (await gitLine(userPlace(repo), args)).split("\n").filter(Boolean);
  const ids = rows.map((row) => row.split(" ")[0] ?? "");
  return { ids, base: ids.length === 0 ? tip : rows[0]?.split(" ")[1] };
}

/** The refs that Holdfast makes in the user's repo. */
const OURS = ["refs/holdfast/", "refs/heads/holdfast/"];

const isOurs = (ref: string) => OURS.some((prefix) => ref.startsWith(prefix));

/** The content of a capsule's packed-refs: the user's branches and tags, as they are now. */
export async function readRefs(repo: Repo): Promise<{ name: string; id: string }[]> {
  const refs = await git(userPlace(repo), ["for-each-ref", "--format=%(objectname) %(refname)"]);
  return refs
    .toString("utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => ({ id: line.slice(0, line.indexOf(" ")), name: line.slice(line.indexOf(" ") + 1) }))
    .filter(({ name }) => !isOurs(name));
}

/** Whether the user's HEAD has it. */
export async function isMerged(repo: Repo, commit: string): Promise<boolean> {
  return isAncestor(repo, commit, "HEAD");
}

export async function isAncestor(repo: Repo, commit: string, of: string): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", commit, of];
  return (await runGit({ gitDir: repo.headDir }, args, { accept: [0, 1, 128] })).exitCode === 0;
}
