/**
 * Owns the making of a capsule of exactly a commit, for checks: the base's files with what set-up installed there, and
 * the files of the commit over them. Nothing comes from the capsule that an agent worked in.
 *
 * K27 Of what differs from the base, it has the commit's files and no others: nothing that is ignored, nothing of a
 *     gitdir that an agent could write. Its git stands on the commit, and has no changes.
 */
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { git } from "../git/git.ts";
import { objectsLink, type Repo } from "../repo/repo.ts";
import { copyIndex } from "../snapshot/classify.ts";
import type { Store } from "../store/store.ts";
import type { CreatedCapsule, NewCapsule } from "./build.ts";
import { createCapsule } from "./create.ts";
import { orDiskFull } from "./disk-full.ts";
import type { CapsuleIo } from "./io.ts";
import { moveFiles } from "./moving.ts";

/** `commit` is in the store, and stands on the request's base. */
export async function createExactCapsule(
  io: CapsuleIo,
  request: NewCapsule,
  { store, commit }: { readonly store: Store; readonly commit: string },
): Promise<CreatedCapsule> {
  const { base, repo } = request;
  const created = await createCapsule(io, request);
  const { capsule } = created;
  if (commit === base) return created;
  try {
    return await orDiskFull(io.disk, async () => {
      const view = await capsule.attach();
      const index = join(capsule.layout.dir, "moved-index");
      if (!copyIndex(view, index))
        throw new HoldfastError("git_failed", "the index of the new capsule can't be read");
      const packInto = (directory: string) => packCommit(repo, store, { commit, base }, directory);
      await moveFiles(capsule, view, { from: base, to: commit, index, isForced: true, packInto });
      await capsule.give();
      return created;
    });
  } catch (error) {
    await capsule.detach().catch(() => {});
    throw error;
  }
}

/** What the store has of a commit, and the user's objects lack. */
async function packCommit(
  repo: Repo,
  store: Store,
  { commit, base }: { readonly commit: string; readonly base: string | null },
  directory: string,
): Promise<void> {
  const from = { gitDir: store.gitDir, alternates: [objectsLink(repo)] };
  const input = [Buffer.from(`${commit}\n${base === null ? "" : `^${base}\n`}`)];
  const args = ["pack-objects", "--revs", "-q", "--delta-base-offset", join(directory, "pack")];
  await git(from, args, { input, config: ["pack.threads=1", "core.fsync=none"] });
}
