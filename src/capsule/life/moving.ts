/**
 * Owns moving a new capsule's files from one commit to another: git writes the few files that differ, in the
 * task's sandbox. Nothing of an agent has run in the capsule yet.
 */
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { removeTree } from "../files/directories.ts";
import type { View } from "../files/view.ts";
import { ConfinedGit } from "../git/confined.ts";
import { makeGitdir, noSurroundings } from "../gitdir/gitdir.ts";
import type { Capsule } from "./capsule.ts";
import { copyPacks } from "./few-files.ts";

const MOVE_MS = 5 * 60_000;

export interface Move {
  /** Null: the capsule has the files of no commit. */
  readonly from: string | null;
  readonly to: string;
  /** The index of the files as they are. It is copied. */
  readonly index: string;
  /** Whether changes that set-up made to these files are overwritten. */
  readonly isForced?: boolean;
  /** Writes a pack into a directory, with the objects of `to` that the user's repo lacks. */
  readonly packInto?: (directory: string) => Promise<void>;
}

/** After this, the capsule's own git stands on the new commit. */
export async function moveFiles(capsule: Capsule, view: View, move: Move): Promise<void> {
  const { layout, repo, spec } = capsule;
  const { from, to, index, isForced = false, packInto } = move;
  // Uses a gitdir of its own, beside the files, so that nothing that set-up left among them is opened.
  const gitDir = join(layout.dir, "moving");
  await makeGitdir({
    path: gitDir,
    repo,
    surroundings: noSurroundings,
    branch: "moving",
    commit: from,
    index,
    isPassing: true,
  });
  const packs = join(gitDir, "objects", "pack");
  await mkdir(packs);
  await packInto?.(packs);
  // Set-up may have left attributes, which git reads on the way.
  const confined = new ConfinedGit({ gitDir, view, sandbox: capsule.sandbox, config: ["core.fsync=none"] });
  const args = ["read-tree", isForced ? "--reset" : "-m", "-u", ...(from === null ? [] : [from]), to];
  const question = { timeoutMs: MOVE_MS, maxOutputBytes: 0, writable: [gitDir] };
  if (!(await confined.ask(args, question)))
    throw new HoldfastError(
      "git_failed",
      `git can't change the files of the capsule from ${from ?? "nothing"} to ${to}`,
    );
  // Through the mount: while it is mounted, the layers below it belong to the kernel.
  const own = join(view.root, ".git");
  await copyFile(join(gitDir, "index"), join(own, "index"));
  if (packInto) await copyPacks(packs, join(own, "objects", "pack"));
  await writeFile(join(own, "refs", "heads", spec.branch), `${to}\n`, { flush: true });
  await removeTree(gitDir);
}
