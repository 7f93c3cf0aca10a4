/**
 * Owns the making of a capsule of exactly a tree, for checks: the base's files with what set-up installed there, and
 * the files of the tree over them. Nothing comes from the capsule that an agent worked in.
 *
 * exact-1 Of what differs from the base, it has the tree's files and no others: nothing that is ignored, nothing of a
 *     gitdir that an agent could write. Its git stands on a commit of the tree, and has no changes.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { withoutSyncs } from "../../util/index.ts";
import { removeTree } from "../files/directories.ts";
import { makeEmptyGitdir } from "../git/confined.ts";
import { git, UNSYNCED } from "../git/git.ts";
import { writeLoose } from "../git/loose-object.ts";
import { type RawChange, rawDiff } from "../git/raw-diff.ts";
import { treeOf } from "../repo/commits.ts";
import { objectsLink } from "../repo/repo.ts";
import { copyIndex } from "../snapshot/classify.ts";
import { makeAside } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import type { CreatedCapsule, NewCapsule } from "./build.ts";
import { createCapsule } from "./create.ts";
import { orDiskFull } from "./disk-full.ts";
import { areFew, bringFew, copyPacks } from "./few-files.ts";
import type { CapsuleIo } from "./io.ts";
import { moveFiles } from "./moving.ts";

export interface ExactTree {
  readonly store: Store;
  /** It is in the store. */
  readonly tree: string;
  /** The text of a commit of it, on the request's base: it is made for this capsule alone. */
  readonly commit: string;
  /** How the tree differs from that of the request's base, where the caller knows it. */
  readonly changes?: readonly RawChange[] | undefined;
}

export async function createExactCapsule(
  io: CapsuleIo,
  request: NewCapsule,
  exact: ExactTree,
): Promise<CreatedCapsule> {
  const aside = await makeAside(exact.store);
  const unsynced = { ...io, disk: withoutSyncs(io.disk) };
  try {
    // Both take as long; and where either fails, nothing of the other is left.
    const [packing, creating] = await Promise.allSettled([
      packTree(request, exact, aside),
      createCapsule(unsynced, { ...request, isPassing: true }),
    ]);
    if (creating.status === "rejected") throw creating.reason;
    try {
      if (packing.status === "rejected") throw packing.reason;
      await orDiskFull(io.disk, () => bringTree(creating.value, request, packing.value));
    } catch (error) {
      await creating.value.capsule.detach().catch(() => {});
      throw error;
    }
    return creating.value;
  } finally {
    await removeTree(aside);
  }
}

interface PackedTree {
  readonly gitDir: string;
  readonly commit: string;
  readonly changes: readonly RawChange[];
}

async function bringTree(
  { capsule }: CreatedCapsule,
  { base }: NewCapsule,
  { gitDir, commit, changes }: PackedTree,
): Promise<void> {
  const view = await capsule.attach();
  if (areFew(changes)) await bringFew(capsule, view, { changes, commit, gitDir });
  else {
    const index = join(capsule.layout.dir, "moved-index");
    if (!copyIndex(view, index))
      throw new HoldfastError("git_failed", "the index of the new capsule can't be read");
    const packInto = (directory: string) => copyPacks(join(gitDir, "objects", "pack"), directory);
    await moveFiles(capsule, view, { from: base, to: commit, index, isForced: true, packInto });
  }
  await capsule.give();
}

/** In a gitdir that goes away with this: the commit, and what the user's objects lack of it. Nothing of it has to last. */
async function packTree(
  { repo, base }: NewCapsule,
  { store, tree, commit: text, changes }: ExactTree,
  aside: string,
): Promise<PackedTree> {
  const gitDir = join(aside, "gitdir");
  const packs = join(gitDir, "objects", "pack");
  await makeEmptyGitdir(gitDir, repo.objectFormat);
  for (const dir of [packs, join(gitDir, "objects", "info")]) await mkdir(dir);
  await writeFile(join(gitDir, "objects", "info", "alternates"), `${objectsLink(repo)}\n`);
  const place = { gitDir, alternates: [join(store.gitDir, "objects")] };
  const differing = changes ?? rawDiff(place, await treeOf(repo, base), tree);
  // It is asked for below, also where the other fails before.
  Promise.resolve(differing).catch(() => {});
  const commit = await writeLoose(gitDir, repo.objectFormat, { type: "commit", bytes: Buffer.from(text) });
  const input = [Buffer.from(`${commit}\n${base === null ? "" : `^${base}\n`}`)];
  const args = ["pack-objects", "--revs", "-q", "--delta-base-offset", join(packs, "pack")];
  await git(place, args, { input, config: ["pack.threads=1", ...UNSYNCED] });
  return { gitDir, commit, changes: await differing };
}
