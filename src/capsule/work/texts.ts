/**
 * Owns the search for given texts in commits and in a task's work, by their exact bytes. A text may be a
 * secret, so it is in no argument of a program.
 */
import { isHoldfastError } from "../../contract/index.ts";
import { type BytePath, toBytes } from "../files/path.ts";
import { runGit } from "../git/git.ts";
import { GITLINK_MODE, NO_MODE, rawDiff } from "../git/raw-diff.ts";
import { treeOf } from "../repo/commits.ts";
import { type Repo, userPlace, withUsersObjects } from "../repo/repo.ts";
import { readContents } from "../store/contents.ts";
import type { Store } from "../store/store.ts";
import type { Work } from "./work.ts";

/** A large repo takes seconds, and a task waits for this. */
const TIMEOUT_MS = 2 * 60_000;

/** Those of these texts that are in a file of the commit, as far as git can tell. */
export async function textsInCommit(
  repo: Repo,
  commit: string | null,
  texts: readonly string[],
): Promise<ReadonlySet<string>> {
  // A pattern of git's is one line.
  const askable = texts.filter((text) => text !== "" && !/[\r\n]/.test(text));
  if (commit === null || askable.length === 0) return new Set();
  try {
    // Usually the commit has none of them. Then one walk through the commit is enough.
    if (!(await isAnyIn(repo, commit, askable))) return new Set();
    const found = new Set<string>();
    for (const text of askable) if (await isAnyIn(repo, commit, [text])) found.add(text);
    return found;
  } catch (error) {
    if (isHoldfastError(error, "git_failed")) return new Set();
    throw error;
  }
}

async function isAnyIn(repo: Repo, commit: string, texts: readonly string[]): Promise<boolean> {
  const args = ["grep", "--quiet", "--text", "--fixed-strings", "--no-recurse-submodules", "-f", "-", commit];
  const input = [Buffer.from(texts.map((text) => `${text}\n`).join(""))];
  const options = { input, accept: [0, 1], timeoutMs: TIMEOUT_MS };
  return (await runGit(userPlace(repo), args, options)).exitCode === 0;
}

export interface FoundText {
  readonly path: BytePath;
  readonly text: string;
}

/** The files that differ between the base and the work, with the texts that are in each or in its name. */
export async function textsInWork(
  repo: Repo,
  store: Store,
  base: string | null,
  work: Work,
  texts: readonly string[],
): Promise<FoundText[]> {
  if (texts.length === 0) return [];
  const { place, changed } = await changedIn(repo, store, base, work);
  const ids = changed.filter(({ mode }) => mode !== GITLINK_MODE).map(({ id }) => id);
  const inContents = await textsInContents(place, ids, texts);
  return changed.flatMap(({ path, id }) =>
    texts
      .filter((text) => inContents.get(id)?.has(text) || toBytes(path).includes(text))
      .map((text) => ({ path, text })),
  );
}

/** The files that differ between the base and the work, and that have one of these contents. */
export async function contentsInWork(
  repo: Repo,
  store: Store,
  base: string | null,
  work: Work,
  ids: ReadonlySet<string>,
): Promise<{ readonly path: BytePath; readonly id: string }[]> {
  if (ids.size === 0) return [];
  const { changed } = await changedIn(repo, store, base, work);
  return changed.filter(({ id }) => ids.has(id));
}

async function changedIn(repo: Repo, store: Store, base: string | null, work: Work) {
  const place = withUsersObjects(store, repo);
  const differing = await rawDiff(place, await treeOf(repo, base), work.tree);
  return { place, changed: differing.filter(({ mode }) => mode !== NO_MODE) };
}

/** By the ids of the contents. Contents without any of the texts are left out. */
export async function textsInContents(
  store: Store,
  ids: readonly string[],
  texts: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  const wanted = texts.map((text) => ({ text, bytes: Buffer.from(text) }));
  const shared = Math.max(0, ...wanted.map(({ bytes }) => bytes.length - 1));
  let before: Buffer = Buffer.alloc(0);
  await readContents(store, [...new Set(ids)], async (id, bytes, isLast) => {
    const piece = Buffer.concat([before, bytes]);
    for (const one of wanted)
      if (piece.includes(one.bytes)) found.set(id, (found.get(id) ?? new Set()).add(one.text));
    before = isLast ? Buffer.alloc(0) : piece.subarray(Math.max(0, piece.length - shared));
  });
  return found;
}
