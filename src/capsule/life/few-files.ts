/**
 * Owns bringing a new capsule's files from one commit to another when few of them differ. Git writes these
 * files in the task's sandbox, and changes its index at these paths alone. Walking through all files would
 * cost more than making the capsule. Nothing of an agent has run in it yet.
 */
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { ancestorsOf, type BytePath, nameOf, toBytes } from "../files/path.ts";
import type { View } from "../files/view.ts";
import { ConfinedGit } from "../git/confined.ts";
import { UNSYNCED } from "../git/git.ts";
import { GITLINK_MODE, NO_MODE, type RawChange } from "../git/raw-diff.ts";
import type { Capsule } from "./capsule.ts";

const WRITE_MS = 5 * 60_000;
/** Git compares every file of the commit with each of them. */
const MAX_FEW = 200;

/**
 * Not if a submodule moves, which is in no file. Not if attributes change: they decide how other files are
 * written, and git reads them from the files that exist.
 */
export const areFew = (changes: readonly RawChange[]) =>
  changes.length <= MAX_FEW &&
  !changes.some(
    ({ path, oldMode, mode }) =>
      oldMode === GITLINK_MODE || mode === GITLINK_MODE || nameOf(path) === ".gitattributes",
  );

export interface FewFiles {
  /** The differences between the two commits. */
  readonly changes: readonly RawChange[];
  readonly commit: string;
  /** A gitdir of Holdfast that has the commit's objects in packs, and the user's objects too. */
  readonly gitDir: string;
}

/** After this, the capsule's own git stands on the new commit. */
export async function bringFew(
  capsule: Capsule,
  view: View,
  { changes, commit, gitDir }: FewFiles,
): Promise<void> {
  const { sandbox, spec } = capsule;
  if (changes.length > 0) {
    const confined = new ConfinedGit({ gitDir, view, sandbox, config: UNSYNCED });
    const from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    const args = ["--literal-pathspecs", "checkout", "-q", "--no-overlay", ...from, commit];
    const question = {
      input: [
        toBytes(
          pathsOf(changes)
            .map((path) => `${path}\0`)
            .join(""),
        ),
      ],
      timeoutMs: WRITE_MS,
      maxOutputBytes: 0,
      writable: [gitDir],
      // The capsule's own index is changed in place. Its gitdir is not opened: set-up may have left something
      // there.
      indexFile: join(sandbox?.at ?? view.workTree, ".git", "index"),
    };
    if (!(await confined.ask(args, question)))
      throw new HoldfastError("git_failed", `git can't write the files of ${commit}`);
  }
  const own = join(view.root, ".git");
  await copyPacks(join(gitDir, "objects", "pack"), join(own, "objects", "pack"));
  await writeFile(join(own, "refs", "heads", spec.branch), `${commit}\n`);
}

/** If a file replaces a directory, the paths in that directory are left out. */
function pathsOf(changes: readonly RawChange[]): BytePath[] {
  const written = new Set(changes.filter(({ mode }) => mode !== NO_MODE).map(({ path }) => path));
  return changes.flatMap(({ path }) => (ancestorsOf(path).some((one) => written.has(one)) ? [] : [path]));
}

export async function copyPacks(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) await copyFile(join(from, name), join(to, name));
}
