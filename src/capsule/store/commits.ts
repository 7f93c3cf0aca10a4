/**
 * Owns reading commits that Holdfast made and that may be in the store only.
 */
import { runGit } from "../git/git.ts";
import { type Repo, withUsersObjects } from "../repo/repo.ts";
import type { Store } from "./store.ts";

export interface ReadCommit {
  readonly tree: string;
  /** The first one. */
  readonly parent: string | null;
}

/** Undefined if neither the store nor the user's repo has it. */
export async function readCommit(repo: Repo, store: Store, id: string): Promise<ReadCommit | undefined> {
  const place = withUsersObjects(store, repo);
  const { exitCode, stdout } = await runGit(place, ["cat-file", "commit", id], { accept: [0, 1, 128] });
  const head = exitCode === 0 ? (stdout.toString("latin1").split("\n\n")[0] ?? "") : "";
  const tree = /^tree ([0-9a-f]+)$/m.exec(head)?.[1];
  return tree === undefined ? undefined : { tree, parent: /^parent ([0-9a-f]+)$/m.exec(head)?.[1] ?? null };
}
