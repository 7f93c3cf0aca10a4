/**
 * Owns the checkout of a commit's files by git, and its progress: files as git counts them, bytes as the
 * kernel counts them for git's processes. It reads nothing a second time for that.
 */
import { type Sandbox, writtenBytes } from "../../process/index.ts";
import { type OnProgress, present, tellStep } from "../../util/index.ts";
import { plainView } from "../files/view.ts";
import { ConfinedGit } from "./confined.ts";
import { failure, git, TIMEOUT_MS } from "./git.ts";

export interface CheckOutOptions {
  /** What is checked out, in a few words. */
  readonly what?: string;
  readonly onProgress?: OnProgress | undefined;
  /** Where its processes will work. The files belong to the sandbox's user, and git accepts them as such. */
  readonly sandbox?: Sandbox | undefined;
}

/** Runs nothing of the user or of the tree: no filter has a driver. */
export async function checkOut(
  place: { gitDir: string; workTree: string },
  treeish: string,
  { what = "the files", onProgress, sandbox }: CheckOutOptions = {},
): Promise<void> {
  tellStep(onProgress, `checking out ${what}`);
  const args = ["read-tree", ...(onProgress ? ["-v"] : []), "--reset", "-u", treeish];
  const config = ["checkout.workers=0", "core.fsync=none"];
  const onComplaint = (chunk: Buffer, pid: number) => {
    const counted = lastCount(chunk.toString("latin1"));
    if (onProgress && counted)
      onProgress({ what: `checking out ${what}`, ...counted, ...present({ bytes: writtenBytes(pid) }) });
  };
  if (!sandbox?.user) {
    await git(place, args, { config, onComplaint });
    return;
  }
  const { gitDir, workTree } = place;
  const confined = new ConfinedGit({ gitDir, view: plainView(workTree), sandbox, config });
  const question = { timeoutMs: TIMEOUT_MS, maxOutputBytes: 0, writable: [gitDir], onComplaint };
  const result = await confined.run(args, question, {});
  if (result.exitCode !== 0) throw failure("read-tree", result);
}

/** In the form in which git reports it: `Updating files:  45% (4500/10000)`. */
function lastCount(text: string): { files: number; ofFiles: number } | undefined {
  const [, files, ofFiles] = [...text.matchAll(/Updating files: +\d+% \((\d+)\/(\d+)\)/g)].at(-1) ?? [];
  return files === undefined ? undefined : { files: Number(files), ofFiles: Number(ofFiles) };
}

/** Sets the index to another commit, and leaves the files as they are. */
export async function setIndex(place: { gitDir: string; workTree?: string }, treeish: string): Promise<void> {
  await git(place, ["read-tree", "--reset", treeish]);
}
