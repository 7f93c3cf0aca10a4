/**
 * Owns publishing: the work of a session's tasks becomes a branch of the user's repo, and nothing else there
 * changes.
 *
 * publish-1 The user's repo gets exactly the objects of one commit, which git checks as they come in, and one
 *    ref, which is moved only from its known commit. No tag, no FETCH_HEAD, no hook.
 * publish-2 A branch is moved forward, or away from a commit that Holdfast put there, and never while a
 *    working tree has it checked out. A commit of a person on it stays: the next task begins there. A tip
 *    that is left behind is kept.
 */

import { createReadStream, existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import type { Disk } from "../../util/index.ts";
import { type GitOptions, type GitPlace, gitToFile, type Identity, runGit } from "../git/git.ts";
import { keepTip } from "../repo/held.ts";
import { BRANCH_FOLDER } from "../repo/named-branches.ts";
import { isAncestor, isMerged } from "../repo/refs.ts";
import { type Repo, userPlace, withUsersObjects } from "../repo/repo.ts";
import { makeAside } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { checkedOutIn } from "./work-trees.ts";

export interface Publication {
  readonly repo: Repo;
  readonly store: Store;
  readonly disk: Disk;
  readonly session: string;
  readonly commit: string;
  readonly base: string | null;
  readonly branch: string;
  /** Commits that Holdfast put there, according to the journal. Any other tip is a person's. */
  readonly ours: readonly string[];
  readonly identity: Identity;
  /** Called before the branch is moved, with the tip that it is moved away from, if there is one. */
  readonly onMove: (replaced: string | undefined) => Promise<void>;
}

/** Without a name: an id that is short enough to type, and that no other session has. */
export const publishedBranch = ({ id, name }: { readonly id: string; readonly name: string | null }) =>
  `${BRANCH_FOLDER}${name ?? id.slice(-10)}`;

/** Returns the commit that the branch was moved away from, if it was not simply moved forward. */
export async function publish(publication: Publication): Promise<string | undefined> {
  const { repo, store, disk, session, commit, base, branch, identity } = publication;
  const ref = `refs/heads/${branch}`;
  const before = await branchTip(repo, branch);
  if (before === commit) return undefined;
  const replaced = await assertMovable(publication, before);
  await copyObjects(repo, store, commit, base);
  await disk.syncDir(join(repo.objects, "pack"));
  if (replaced !== undefined) await keepTip(repo, session, replaced);
  await publication.onMove(replaced);
  const { exitCode, stderr } = await runGit(
    userPlace(repo),
    ["update-ref", "-m", "holdfast: published", ref, commit, before ?? "0".repeat(commit.length)],
    { accept: [0, 128], identity },
  );
  if (exitCode !== 0) throw refused(branch, `could not be set: ${stderr.trim()}`);
  // If refs are files, their directory has the new name.
  const dir = dirname(join(repo.gitDir, ref));
  if (existsSync(dir)) await disk.syncDir(dir);
  return replaced;
}

type Move = Pick<Publication, "repo" | "branch" | "ours" | "base">;

/** Fails if a commit on `base` could not be published as things are. */
export async function assertPublishable(move: Move): Promise<void> {
  await assertMovable(move, await branchTip(move.repo, move.branch));
}

/** Returns the tip that is left behind, if there is one. */
async function assertMovable(
  { repo, branch, ours, base }: Move,
  before: string | undefined,
): Promise<string | undefined> {
  if (before === undefined) return undefined;
  const isMovedOn = base !== null && (base === before || (await isAncestor(repo, before, base)));
  if (!isMovedOn && !ours.includes(before))
    throw refused(branch, "now has commits that a person made: the next task begins with them");
  await assertNotCheckedOut(repo, branch);
  if (isMovedOn) return undefined;
  if (await isMerged(repo, before))
    throw refused(
      branch,
      "was merged, but this work is based on an earlier commit: rename or delete the branch",
    );
  return before;
}

/** A working tree would show the move in reverse, as changes that are ready to be committed. */
export async function assertNotCheckedOut(repo: Repo, branch: string): Promise<void> {
  const place = await checkedOutIn(repo, branch);
  if (place !== undefined)
    throw refused(
      branch,
      `is checked out in ${place}: switch to another branch there, then run holdfast branch`,
    );
}

function refused(branch: string, reason: string): HoldfastError {
  return new HoldfastError("publish_refused", `the branch ${branch} ${reason}`, { branch });
}

/** Contents above this are never whole in the memory of git. */
export const STREAMED = "core.bigFileThreshold=64m";

export async function branchTip(repo: Repo, branch: string): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`];
  const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 1, 128] });
  return exitCode === 0 ? stdout.toString("utf8").trim() : undefined;
}

/**
 * One pack with everything that the base does not have. It is refused as a whole if any object is not valid.
 */
export async function copyObjects(
  repo: Repo,
  store: Store,
  commit: string,
  base: string | null,
): Promise<void> {
  const from = withUsersObjects(store, repo);
  const revisions = Buffer.from(`${commit}\n${base === null ? "" : `^${base}\n`}`);
  const aside = await makeAside(store);
  const pack = join(aside, "work.pack");
  try {
    const packing = ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"];
    await gitToFile(from, packing, pack, { input: [revisions], config: ["pack.threads=1"] });
    await takeInto(userPlace(repo), pack);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/**
 * Takes in a pack of objects from elsewhere. Git checks each of them, and that nothing they name is missing. `bounds`:
 * for a pack that an agent could have crafted, whose few bytes may stand for many.
 */
export async function takeInto(
  place: GitPlace,
  pack: string,
  bounds: Pick<GitOptions, "maxAllocBytes" | "timeoutMs"> = {},
): Promise<void> {
  const { exitCode, stderr } = await runGit(place, ["index-pack", "--stdin", "--strict", "--fix-thin"], {
    ...bounds,
    input: createReadStream(pack),
    config: ["transfer.fsckObjects=true", "fsck.zeroPaddedFilemode=ignore", STREAMED, "pack.threads=1"],
    accept: [0, 1, 128],
  });
  if (exitCode !== 0) {
    const said = stderr.trim().split("\n").slice(-2).join("; ");
    throw new HoldfastError("publish_refused", `git refuses the work: ${said}`);
  }
}
