/**
 * Owns the refs by which a home keeps commits of the user's repo. They are hidden, and their names belong to
 * this home.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { git, gitLine } from "../git/git.ts";
import { checkoutsIn } from "./refs.ts";
import { type Repo, userPlace } from "./repo.ts";

/**
 * Keeps a base from the user's own garbage collection, and with it everything that a snapshot leaves to the
 * base.
 */
export async function holdCommit(repo: Repo, commit: string): Promise<void> {
  if (existsSync(join(repo.gitDir, holdOf(repo, commit)))) return;
  await git(userPlace(repo), ["update-ref", holdOf(repo, commit), commit]);
}

/**
 * Holds of another home belong to it. So do those without the name of a home, which an earlier version made.
 */
export const holdOf = ({ holds }: Pick<Repo, "holds">, commit: string) => `${holds}/${commit}`;

export async function heldCommits(repo: Repo): Promise<string[]> {
  const refs = await git(userPlace(repo), ["for-each-ref", "--format=%(objectname)", `${repo.holds}/`]);
  return refs.toString("utf8").split("\n").filter(Boolean);
}

/**
 * Keeps the commit that a session's branch was moved away from: nothing else in the user's repo may have it.
 * The ref is removed with the session.
 */
export async function keepTip(repo: Repo, session: string, commit: string): Promise<void> {
  await git(userPlace(repo), ["update-ref", `${tipsOf(repo, session)}/${commit}`, commit]);
}

/**
 * Keeps the user's checkout as it was when a task of the session began with it. The ref is removed with the
 * session.
 */
export async function keepCheckout(repo: Repo, session: string, commit: string): Promise<void> {
  await git(userPlace(repo), ["update-ref", `${checkoutsIn(repo)}/${session}/${commit}`, commit]);
}

/** The commit that such a checkout stands on. Any other commit is returned as it is. */
export async function belowCheckout(repo: Repo, commit: string | null): Promise<string | null> {
  if (commit === null) return null;
  const args = ["for-each-ref", "--points-at", commit, "--format=%(refname)", `${checkoutsIn(repo)}/`];
  if ((await git(userPlace(repo), args)).length === 0) return commit;
  const parent = ["rev-parse", "--verify", "--quiet", `${commit}^`];
  return (await gitLine(userPlace(repo), parent, { accept: [0, 1] })) || null;
}

export async function listCheckouts(
  repo: Repo,
): Promise<{ readonly ref: string; readonly session: string; readonly atMs: number }[]> {
  const format = "--format=%(committerdate:unix) %(refname)";
  const out = await git(userPlace(repo), ["for-each-ref", format, `${checkoutsIn(repo)}/`]);
  return out
    .toString("utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [seconds, ref = ""] = line.split(" ");
      return { ref, session: ref.split("/").at(-2) ?? "", atMs: Number(seconds) * 1000 };
    });
}

export async function dropTips(repo: Repo, session: string): Promise<void> {
  const dirs = [`${tipsOf(repo, session)}/`, `${checkoutsIn(repo)}/${session}/`];
  const out = await git(userPlace(repo), ["for-each-ref", "--format=%(refname)", ...dirs]);
  for (const ref of out.toString("utf8").split("\n").filter(Boolean))
    await git(userPlace(repo), ["update-ref", "-d", ref]);
}

/** The tips that are kept for sessions. A session may be gone by now. */
export async function listTips(repo: Repo): Promise<{ readonly session: string; readonly commit: string }[]> {
  const prefix = tipsOf(repo, "");
  const out = await git(userPlace(repo), ["for-each-ref", "--format=%(refname)", prefix]);
  const refs = out.toString("utf8").split("\n").filter(Boolean);
  return refs.map((ref) => {
    const [session = "", commit = ""] = ref.slice(prefix.length).split("/");
    return { session, commit };
  });
}

const tipsOf = ({ holds }: Pick<Repo, "holds">, session: string) =>
  `${holds.replace("/held/", "/tips/")}/${session}`;

export async function releaseCommit(repo: Repo, commit: string): Promise<void> {
  await git(userPlace(repo), ["update-ref", "-d", holdOf(repo, commit), commit]);
}
