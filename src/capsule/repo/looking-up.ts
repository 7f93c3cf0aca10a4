/**
 * Owns looking up many names at once, for commands that show many sessions: one process for all.
 */
import { git } from "../git/git.ts";
import { BRANCH_FOLDER } from "./named-branches.ts";
import { type Repo, userPlace, withUsersObjects } from "./repo.ts";

/** The branches of sessions, with their commits. */
export async function sessionBranches(repo: Repo): Promise<ReadonlyMap<string, string>> {
  const format = "--format=%(objectname) %(refname:lstrip=2)";
  const out = await git(userPlace(repo), ["for-each-ref", format, `refs/heads/${BRANCH_FOLDER}`]);
  const lines = out.toString("utf8").split("\n").filter(Boolean);
  return new Map(lines.map((line) => [line.slice(line.indexOf(" ") + 1), line.slice(0, line.indexOf(" "))]));
}

/** The trees of these commits and trees, as far as the repo or its store has them. */
export async function findTrees(
  repo: Repo,
  store: { readonly gitDir: string },
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const place = withUsersObjects(store, repo);
  const input = [Buffer.from(ids.map((id) => `${id}^{tree}\n`).join(""))];
  const out = await git(place, ["cat-file", "--batch-check=%(objectname)"], { input });
  const answers = out.toString("utf8").split("\n");
  const found = ids.map((id, index) => [id, answers[index] ?? ""] as const);
  return new Map(found.filter(([, tree]) => /^[0-9a-f]+$/.test(tree)));
}
