/**
 * Owns merging commits without a working tree: the result of two of them, and where they collide. It works in
 * the place that the caller names, never in the user's repo, and by git's own rules alone: no merge driver of
 * a repo is run.
 */
import { HoldfastError } from "../../contract/index.ts";
import type { BytePath } from "../files/path.ts";
import { type GitPlace, gitLine, runGit } from "../git/git.ts";

export interface Merged {
  /** With markers in the files that collide. */
  readonly tree: string;
  /** Empty if the two can be merged. */
  readonly conflicts: readonly BytePath[];
}

export type Pair = readonly [one: string, other: string];

/**
 * A file that one side adds to a directory that the other renames stays where it is: git must not move it by
 * a guess.
 */
const SETTINGS = ["merge.directoryRenames=false"];
const UNKNOWN_OPTION = 129;

/**
 * Merges each pair, from the commits that both descend from. One process for all. `isLasting`: whether the
 * result will last.
 */
export async function mergePairs(
  place: GitPlace,
  pairs: readonly Pair[],
  { isLasting = true }: { readonly isLasting?: boolean } = {},
): Promise<Merged[]> {
  if (pairs.length === 0) return [];
  const options = ["-z", "--name-only", "--no-messages", "--allow-unrelated-histories", "--stdin"];
  const input = [Buffer.from(pairs.map(([one, other]) => `${one} ${other}\n`).join(""))];
  const { exitCode, stdout } = await runGit(place, ["merge-tree", "--write-tree", ...options], {
    input,
    config: isLasting ? SETTINGS : [...SETTINGS, "core.fsync=none"],
    accept: [0, UNKNOWN_OPTION],
  });
  if (exitCode === UNKNOWN_OPTION) throw await tooOld(place);
  return parseMerges(stdout.toString("latin1"));
}

async function tooOld(place: GitPlace): Promise<HoldfastError> {
  const version = await gitLine(place, ["version"]);
  return new HoldfastError("git_too_old", `merging needs git 2.39 or newer, and this is ${version}`);
}

/** For each: whether it is clean, its tree, the paths with conflicts, and an empty field. */
function parseMerges(text: string): Merged[] {
  const fields = text.split("\0");
  const merges: Merged[] = [];
  for (let at = 0; at + 2 < fields.length; ) {
    const tree = fields[at + 1] ?? "";
    const end = fields.indexOf("", at + 2);
    merges.push({ tree, conflicts: fields.slice(at + 2, end) });
    at = end + 1;
  }
  return merges;
}
