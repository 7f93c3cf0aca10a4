/**
 * Owns the question which works will collide: with each other, and with the branch that they would go into.
 * First it compares the paths that they change, in one step. Only works that meet on a path are merged, to
 * find out. Everything that this writes is deleted afterwards.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ancestorsOf, type BytePath } from "../files/path.ts";
import { type GitPlace, git, gitLine } from "../git/git.ts";
import { treeOf } from "../repo/commits.ts";
import { objectsLink, type Repo } from "../repo/repo.ts";
import { makeAside } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { NAMELESS, writeCommit } from "./commit-text.ts";
import { mergePairs } from "./merge.ts";

/** The work of a session: a commit, or a tree that stands on one. */
export interface LiveWork {
  readonly session: string;
  readonly commit: string | null;
  readonly tree?: string | undefined;
}

export interface Collision {
  readonly session: string;
  /** The other session; null for the branch that it would go into. */
  readonly other: string | null;
  readonly paths: readonly BytePath[];
}

interface Side {
  readonly session: string | null;
  readonly commit: string;
}

export async function collisions(
  repo: Repo,
  store: Store,
  { works, target }: { readonly works: readonly LiveWork[]; readonly target: string },
): Promise<Collision[]> {
  const aside = await makeAside(store);
  try {
    await mkdir(join(aside, "pack"), { mode: 0o700 });
    const alternates = [join(store.gitDir, "objects"), objectsLink(repo)];
    const place = { gitDir: store.gitDir, objects: aside, alternates };
    const [nothing, ...sides] = await Promise.all([
      treeOf(repo, null),
      ...works.map((work) => commitOf(place, work)),
    ]);
    const meeting = await pairsThatMeet(place, sides, target, nothing);
    const pairs = meeting.map(([one, other]) => [one.commit, other.commit] as const);
    const merged = await mergePairs(place, pairs, { isLasting: false });
    return meeting.flatMap(([one, other], index) => {
      const paths = merged[index]?.conflicts ?? [];
      return one.session === null || paths.length === 0
        ? []
        : [{ session: one.session, other: other.session, paths }];
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Puts a tree that is in no commit yet into a commit, which no ref names. */
async function commitOf(place: GitPlace, { session, commit, tree }: LiveWork): Promise<Side> {
  if (commit !== null && tree === undefined) return { session, commit };
  return { session, commit: await nameless(place, tree ?? "", commit === null ? [] : [commit]) };
}

const nameless = (place: GitPlace, tree: string, parents: readonly string[]): Promise<string> =>
  writeCommit(place, { ...NAMELESS, tree, parents });

/** Each work with the branch, and with the works after it in the list. */
async function pairsThatMeet(
  place: GitPlace,
  sides: readonly Side[],
  target: string,
  emptyTree: string,
): Promise<(readonly [Side, Side])[]> {
  const bases = await basesOf(place, sides, target);
  // If both descend from no common commit, all of it is new.
  const nothing = bases.includes(undefined) ? await nameless(place, emptyTree, []) : "";
  const own = sides.map(({ commit }, index) => [bases[index] ?? nothing, commit] as const);
  const theirs = sides.map((_, index) => [bases[index] ?? nothing, target] as const);
  const changed = await changedPaths(place, [...own, ...theirs]);
  const reaches = changed.map((paths) => new Reach(paths));
  const meet = (one: number, other: number) => reaches[one]?.meets(reaches[other]) ?? false;
  const branch = { session: null, commit: target };
  return sides.flatMap((side, at) => {
    const others = sides.slice(at + 1).filter((_, after) => meet(at, at + 1 + after));
    return [...(meet(at, sides.length + at) ? [branch] : []), ...others].map(
      (other): readonly [Side, Side] => [side, other],
    );
  });
}

/**
 * The commit at which each work left the branch. One process for all. If there are merges in between, git is
 * asked again.
 */
async function basesOf(
  place: GitPlace,
  sides: readonly Side[],
  target: string,
): Promise<(string | undefined)[]> {
  const tips = sides.map(({ commit }) => commit);
  const lines = (await gitLine(place, ["rev-list", "--parents", ...tips, "--not", target])).split("\n");
  const beyond = new Map(lines.filter(Boolean).map((line) => [line.split(" ")[0], line.split(" ").slice(1)]));
  return Promise.all(
    tips.map((tip) => {
      let at: string | undefined = tip;
      for (let parents = beyond.get(at); parents; parents = beyond.get(at)) {
        if (parents.length > 1) return mergeBase(place, tip, target);
        [at] = parents;
        if (at === undefined) return undefined;
      }
      return at;
    }),
  );
}

async function mergeBase(place: GitPlace, tip: string, target: string): Promise<string | undefined> {
  const answer = await gitLine(place, ["merge-base", tip, target], { accept: [0, 1] });
  return answer.split("\n")[0] || undefined;
}

type Range = readonly [from: string, to: string];

/** For each range. A range that comes twice is asked for once. */
async function changedPaths(place: GitPlace, ranges: readonly Range[]): Promise<(readonly BytePath[])[]> {
  const keyOf = ([from, to]: Range) => `${to} ${from}`;
  const wanted = new Map(ranges.filter(([from, to]) => from !== to).map((range) => [keyOf(range), range]));
  const found = new Map<string, BytePath[]>();
  const keys = [...wanted.keys()];
  if (keys.length > 0) {
    const args = ["diff-tree", "--stdin", "--always", "-r", "-z", "--raw", "--no-renames"];
    const input = [Buffer.from(keys.map((key) => `${key}\n`).join(""))];
    const fields = (await git(place, args, { input })).toString("latin1").split("\0");
    let at = -1;
    for (let index = 0; index + 1 < fields.length; index += 1) {
      if (fields[index]?.startsWith(":")) {
        index += 1;
        found.get(keys[at] ?? "")?.push(fields[index] ?? "");
      } else found.set(keys[++at] ?? "", []);
    }
  }
  return ranges.map((range) => found.get(keyOf(range)) ?? []);
}

/** The paths that a work changes, and the directories that these need. */
class Reach {
  readonly #paths: ReadonlySet<BytePath>;
  readonly #above: ReadonlySet<BytePath>;

  constructor(paths: readonly BytePath[]) {
    this.#paths = new Set(paths);
    this.#above = new Set(paths.flatMap(ancestorsOf));
  }

  /** They share a path, or one has a file where the other has a directory. */
  meets(other: Reach | undefined): boolean {
    if (!other) return false;
    for (const path of this.#paths) if (other.#paths.has(path) || other.#above.has(path)) return true;
    for (const path of other.#paths) if (this.#above.has(path)) return true;
    return false;
  }
}
