/**
 * Owns the moving of a new capsule's files from one commit to another: the few that differ are written by git, in the
 * task's sandbox. Nothing of an agent's has run in the capsule yet.
 */
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { removeTree } from "../files/directories.ts";
import type { View } from "../files/view.ts";
import { ConfinedGit } from "../git/confined.ts";
import { makeGitdir, noSurroundings } from "../gitdir/gitdir.ts";
import type { Capsule } from "./capsule.ts";

const MOVE_MS = 5 * 60_000;

export interface Move {
  /** Null: the files of no commit. */
  readonly from: string | null;
  readonly to: string;
  /** Copied: git's list of the files as they are. */
  readonly index: string;
  /** Whether what set-up changed in these files makes way. */
  readonly isForced?: boolean;
  /** Writes a pack into a directory with what the user's objects lack of `to`. */
  readonly packInto?: (directory: string) => Promise<void>;
}

/** Its own git stands on the new commit after this. */
export async function moveFiles(capsule: Capsule, view: View, move: Move): Promise<void> {
  const { layout, repo, spec } = capsule;
  const { from, to, index, isForced = false, packInto } = move;
  // With a gitdir of its own, beside the files: whatever set-up left among them is not opened.
  const gitDir = join(layout.dir, "moving");
  await makeGitdir({
    path: gitDir,
    repo,
    surroundings: noSurroundings,
    branch: "moving",
    commit: from,
    index,
  });
  const packs = join(gitDir, "objects", "pack");
  await mkdir(packs);
  await packInto?.(packs);
  // Set-up may have left attributes, which git reads on the way.
  const confined = new ConfinedGit({ gitDir, view, sandbox: capsule.sandbox, config: ["core.fsync=none"] });
  const args = ["read-tree", isForced ? "--reset" : "-m", "-u", ...(from === null ? [] : [from]), to];
  const question = { timeoutMs: MOVE_MS, maxOutputBytes: 0, writable: [gitDir] };
  if (!(await confined.ask(args, question)))
    throw new HoldfastError("git_failed", `git can't go from ${from ?? "nothing"} to ${to}`);
  // Through the mount: what lies below it is the kernel's while it stands.
  const own = join(view.root, ".git");
  await copyFile(join(gitDir, "index"), join(own, "index"));
  if (packInto) await copyPacks(packs, join(own, "objects", "pack"));
  await writeFile(join(own, "refs", "heads", spec.branch), `${to}\n`, { flush: true });
  await removeTree(gitDir);
}

async function copyPacks(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) await copyFile(join(from, name), join(to, name));
}
