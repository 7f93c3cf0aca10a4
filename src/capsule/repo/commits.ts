/**
 * Owns reading commits of the user's repo: their trees, their paths, the bytes of a file.
 */
import { type BytePath, toText } from "../files/path.ts";
import { BatchReader } from "../git/batch-reader.ts";
import { git, gitLine, runGit } from "../git/git.ts";
import { isRemembered, type Repo, remember, userPlace } from "./repo.ts";

export async function hasObject(repo: Repo, id: string): Promise<boolean> {
  return (await runGit(userPlace(repo), ["cat-file", "-e", id], { accept: [0, 1, 128] })).exitCode === 0;
}

/** A file of a commit; undefined if the commit has no file of that name. */
export async function readCommittedBytes(
  repo: Repo,
  commit: string | null,
  path: BytePath,
): Promise<Buffer | undefined> {
  if (commit === null) return undefined;
  const args = ["cat-file", "blob", `${commit}:${toText(path)}`];
  const { exitCode, stdout } = await runGit(userPlace(repo), args, { accept: [0, 128] });
  return exitCode === 0 ? stdout : undefined;
}

/**
 * Whether a commit has a directory of that name, also through links in it. If a link leads out, it may have
 * one.
 */
export async function hasDirectory(repo: Repo, commit: string | null, path: string): Promise<boolean> {
  if (commit === null) return false;
  const args = ["cat-file", "--batch-check=%(objecttype)", "--follow-symlinks"];
  const input = [Buffer.from(`${commit}:${path}\n`)];
  const answer = await gitLine(userPlace(repo), args, { input });
  return answer === "tree" || answer.startsWith("symlink ") || path.includes("\n");
}

/** For a tree that git reported with another answer. */
export function rememberTree(repo: Repo, commit: string, tree: string): void {
  remember(repo, `tree of ${commit}`, async () => tree);
}

/** If it is known, the commit exists. */
export const isTreeKnown = (repo: Repo, commit: string) => isRemembered(repo, `tree of ${commit}`);

export async function treeOf(repo: Repo, commit: string | null): Promise<string> {
  return remember(repo, `tree of ${commit}`, () =>
    commit === null
      ? gitLine(userPlace(repo), ["hash-object", "-t", "tree", "--stdin"], { input: [] })
      : gitLine(userPlace(repo), ["rev-parse", "--verify", `${commit}^{tree}`]),
  );
}

/** Every path of a commit. */
export async function listCommit(
  repo: Repo,
  commit: string | null,
): Promise<{ path: BytePath; mode: string; id: string }[]> {
  if (commit === null) return [];
  const out = (await git(userPlace(repo), ["ls-tree", "-r", "-z", "--full-tree", commit])).toString("latin1");
  return out
    .split("\0")
    .filter(Boolean)
    .map((row) => {
      const [mode = "", , id = ""] = row.slice(0, row.indexOf("\t")).split(" ");
      return { path: row.slice(row.indexOf("\t") + 1), mode, id };
    });
}

export const isGitlink = ({ mode }: { readonly mode: string }) => mode === "160000";

/** Submodules: directories whose content belongs to another repo. */
export async function listGitlinks(repo: Repo, commit: string | null): Promise<BytePath[]> {
  return (await listCommit(repo, commit)).filter(isGitlink).map(({ path }) => path);
}

/** Those of these paths that a commit has with CRLF. */
export async function committedCrlf(
  repo: Repo,
  commit: string | null,
  paths: readonly BytePath[],
): Promise<ReadonlySet<BytePath>> {
  const wanted = new Set(paths);
  const found = new Set<BytePath>();
  if (wanted.size === 0) return found;
  const there = (await listCommit(repo, commit)).filter(
    (one) => wanted.has(one.path) && one.mode.startsWith("100"),
  );
  let isAfterCr = false;
  const reader = new BatchReader((index, bytes, isLast) => {
    const hasCrlf = bytes.includes("\r\n") || (isAfterCr && bytes[0] === 0x0a);
    if (hasCrlf) found.add(there[index]?.path ?? "");
    isAfterCr = !isLast && bytes.at(-1) === 0x0d;
  });
  const input = [Buffer.from(there.map(({ id }) => `${id}\n`).join(""))];
  if (there.length > 0)
    await git(userPlace(repo), ["cat-file", "--batch", "--buffer"], {
      input,
      onOutput: (chunk) => reader.push(chunk),
    });
  return found;
}
