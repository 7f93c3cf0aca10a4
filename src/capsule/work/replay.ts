/**
 * Owns the replay of a session's commits on another commit: one by one, or as one. It works in the store,
 * with access to the user's objects, and without a working tree. The user's repo is only read.
 *
 * replay-1 A replayed commit keeps its author and its message; the user is its committer. A commit that is
 *    already in the right place stays itself. Changes that the other side already has are left out.
 *
 * The resulting history is a line: a merge commit is replayed as its changes against its first parent.
 */
import { HoldfastError } from "../../contract/index.ts";
import type { BytePath } from "../files/path.ts";
import { type GitPlace, gitLine, type Identity } from "../git/git.ts";
import { treeOf } from "../repo/commits.ts";
import { type Repo, withUsersObjects } from "../repo/repo.ts";
import type { Store } from "../store/store.ts";
import { MAX_COMMITS, NAMELESS, type ReadCommit, readCommits, writeCommit } from "./commit-text.ts";
import { mergePairs } from "./merge.ts";
import { signature } from "./work.ts";

export interface ReplayRequest {
  readonly repo: Repo;
  readonly store: Store;
  /** The tip of the work. */
  readonly tip: string;
  /** The commit that the work will stand on. */
  readonly onto: string;
  /** `onto` has all of the work up to this commit, in whatever form. */
  readonly since?: string | undefined;
  readonly identity: Identity;
  readonly atMs: number;
  /** Puts all of it into one commit. Given the subjects of the commits, this returns its message. */
  readonly squashedAs?: ((subjects: readonly string[]) => string) | undefined;
}

export interface Replayed {
  readonly commit: string;
  readonly tree: string;
  /**
   * What became of each commit, oldest first. Commits that were left out are missing, and it is empty if all
   * became one.
   */
  readonly commits: readonly { readonly from: string; readonly to: string }[];
}

export interface Conflicted {
  /** The commit that could not be replayed. */
  readonly at: string;
  readonly paths: readonly BytePath[];
  /** With markers in the files. */
  readonly tree: string;
}

export async function replay(request: ReplayRequest): Promise<Replayed | Conflicted> {
  const { repo, store, onto } = request;
  const place = withUsersObjects(store, repo);
  const commits = await commitsToReplay(place, request);
  const tree = await treeOf(repo, onto);
  if (commits.length === 0) return { commit: onto, tree, commits: [] };
  return request.squashedAs && commits.length > 1
    ? replayAsOne(place, request, commits, tree)
    : replayEach(place, request, commits, tree);
}

export const isConflicted = (result: Replayed | Conflicted): result is Conflicted => "paths" in result;

async function commitsToReplay(
  place: GitPlace,
  { tip, onto, since }: ReplayRequest,
): Promise<readonly ReadCommit[]> {
  const without = [onto, ...(since === undefined ? [] : [since])];
  const args = ["rev-list", "--first-parent", "--reverse", `--max-count=${MAX_COMMITS + 1}`, tip, "--not"];
  const ids = (await gitLine(place, [...args, ...without])).split("\n").filter(Boolean);
  if (ids.length > MAX_COMMITS)
    throw new HoldfastError("merge_refused", `the work has more than ${MAX_COMMITS} commits`);
  return readCommits(place, ids);
}

async function replayEach(
  place: GitPlace,
  { onto, identity, atMs }: ReplayRequest,
  originals: readonly ReadCommit[],
  firstTree: string,
): Promise<Replayed | Conflicted> {
  const commits: { from: string; to: string }[] = [];
  let tip = { commit: onto, tree: firstTree };
  for (const original of originals) {
    const [parent, ...others] = original.parents;
    if (parent === tip.commit && others.length === 0) {
      if (original.tree === tip.tree) continue;
      tip = { commit: original.id, tree: original.tree };
    } else {
      const { tree, conflicts } = await mergedInto(place, tip.tree, original);
      if (conflicts.length > 0) return conflictAt(original, { tree, conflicts });
      if (tree === tip.tree) continue;
      const { author, message, encoding } = original;
      const parents = [tip.commit];
      const commit = { tree, parents, author, message, encoding, committer: identity, atMs };
      tip = { commit: await writeCommit(place, commit), tree };
    }
    commits.push({ from: original.id, to: tip.commit });
  }
  return { ...tip, commits };
}

/**
 * Merges a tree and a commit, by what the commit changed against its first parent. The tree becomes a commit
 * on that parent, which no ref names, so git finds the parent as the base of the two, whatever their
 * histories are.
 */
async function mergedInto(place: GitPlace, tree: string, commit: Pick<ReadCommit, "id" | "parents">) {
  const side = await writeCommit(place, { ...NAMELESS, tree, parents: commit.parents.slice(0, 1) });
  const [merged] = await mergePairs(place, [[side, commit.id]]);
  if (!merged) throw new Error("git said nothing of the merge");
  return merged;
}

async function replayAsOne(
  place: GitPlace,
  { tip, onto, since, identity, atMs, squashedAs }: ReplayRequest,
  originals: readonly ReadCommit[],
  ontoTree: string,
): Promise<Replayed | Conflicted> {
  const merging =
    since === undefined
      ? mergePairs(place, [[onto, tip]]).then(([merged]) => merged)
      : mergedInto(place, ontoTree, { id: tip, parents: [since] });
  const merged = await merging;
  const last = originals.at(-1);
  if (!merged || !last) throw new Error("git said nothing of the merge");
  if (merged.conflicts.length > 0) return conflictAt(last, merged);
  if (merged.tree === ontoTree) return { commit: onto, tree: ontoTree, commits: [] };
  const subjects = originals.map(({ message }) =>
    Buffer.from(message.split("\n", 1)[0] ?? "", "latin1").toString("utf8"),
  );
  const names = new Set(originals.map(({ author }) => author.replace(/>[^>]*$/, ">")));
  const user = Buffer.from(signature(identity, atMs)).toString("latin1");
  const commit = await writeCommit(place, {
    tree: merged.tree,
    parents: [onto],
    author: names.size === 1 ? last.author : user,
    message: Buffer.from(squashedAs?.(subjects) ?? "").toString("latin1"),
    committer: identity,
    atMs,
  });
  return { commit, tree: merged.tree, commits: [] };
}

function conflictAt(
  { id }: ReadCommit,
  { tree, conflicts }: { readonly tree: string; readonly conflicts: readonly BytePath[] },
): Conflicted {
  return { at: id, paths: conflicts, tree };
}
