/**
 * Owns the checking out of a commit's files by git, and what is said of it while it lasts: files as git counts them,
 * bytes as the kernel does for git's processes. Nothing is looked at twice for it.
 */
import { writtenBytes } from "../../process/index.ts";
import { type OnProgress, present, tellStep } from "../../util/index.ts";
import { git } from "./git.ts";

export interface CheckOutOptions {
  /** What is checked out, in a few words. */
  readonly what?: string;
  readonly onProgress?: OnProgress | undefined;
}

/** With nothing of the user's or the tree's that could run: no filter has a driver. */
export async function checkOut(
  place: { gitDir: string; workTree: string },
  treeish: string,
  { what = "the files", onProgress }: CheckOutOptions = {},
): Promise<void> {
  tellStep(onProgress, `checking out ${what}`);
  await git(place, ["read-tree", ...(onProgress ? ["-v"] : []), "--reset", "-u", treeish], {
    config: ["checkout.workers=0", "core.fsync=none"],
    onComplaint: (chunk, pid) => {
      const counted = lastCount(chunk.toString("latin1"));
      if (onProgress && counted)
        onProgress({ what: `checking out ${what}`, ...counted, ...present({ bytes: writtenBytes(pid) }) });
    },
  });
}

/** As git says it: `Updating files:  45% (4500/10000)`. */
function lastCount(text: string): { files: number; ofFiles: number } | undefined {
  const [, files, ofFiles] = [...text.matchAll(/Updating files: +\d+% \((\d+)\/(\d+)\)/g)].at(-1) ?? [];
  return files === undefined ? undefined : { files: Number(files), ofFiles: Number(ofFiles) };
}

/** The index of another commit, with the files left as they are. */
export async function setIndex(place: { gitDir: string; workTree?: string }, treeish: string): Promise<void> {
  await git(place, ["read-tree", "--reset", treeish]);
}
