/**
 * Owns the questions which branch names of a repo are taken, and which repo a checkout belongs to. It reads
 * plain files, because each new session asks, and starting git takes longer than the answer.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { readPlainFile } from "../../util/index.ts";
import { runGit } from "../git/git.ts";

export const BRANCH_FOLDER = "holdfast/";

const MAX_POINTER_BYTES = 4096;
const MAX_PACKED_BYTES = 256 * 1024 * 1024;

/**
 * Where the refs of a repo are. A session knows the repo by its checkout or by its gitdir. Undefined: it is
 * not a repo.
 */
export function refsDirOf(path: string): string | undefined {
  try {
    const own = ownGitDir(path);
    const common = readPlainFile(join(own, "commondir"), { maxBytes: MAX_POINTER_BYTES });
    const dir = realpathSync(common ? resolve(own, common.toString("utf8").trim()) : own);
    return existsSync(join(dir, "HEAD")) ? dir : undefined;
  } catch {
    return undefined;
  }
}

/** A linked working tree has a file there, which names its gitdir. */
function ownGitDir(path: string): string {
  const dotGit = join(path, ".git");
  const stats = statSync(dotGit, { throwIfNoEntry: false });
  if (!stats) return path;
  if (stats.isDirectory()) return dotGit;
  const pointer = readPlainFile(dotGit, { maxBytes: MAX_POINTER_BYTES })?.toString("utf8") ?? "";
  return resolve(path, /^gitdir: (.+)/.exec(pointer)?.[1]?.trim() ?? dotGit);
}

/** Whether a branch of ours can't have this name, because a branch has it or prevents it. */
export async function isBranchTaken(refsDir: string, name: string): Promise<boolean> {
  const ref = `refs/heads/${BRANCH_FOLDER}${name}`;
  if (existsSync(join(refsDir, "reftable"))) {
    const { stdout } = await runGit({ gitDir: refsDir }, ["for-each-ref", "--count=1", ref]);
    return stdout.length > 0;
  }
  if (existsSync(join(refsDir, ref))) return true;
  const packed = readPlainFile(join(refsDir, "packed-refs"), { maxBytes: MAX_PACKED_BYTES });
  return packed !== undefined && (packed.includes(` ${ref}\n`) || packed.includes(` ${ref}/`));
}
