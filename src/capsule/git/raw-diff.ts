/**
 * Owns the differences between two trees, as git lists them: path by path, without following renames.
 */

import type { BytePath } from "../files/path.ts";
import { type GitPlace, git } from "./git.ts";

export interface RawChange {
  readonly path: BytePath;
  readonly oldMode: string;
  readonly mode: string;
  readonly oldId: string;
  readonly id: string;
}

/** The mode of a path that does not exist. */
export const NO_MODE = "000000";
export const GITLINK_MODE = "160000";
export const LINK_MODE = "120000";

export async function rawDiff(place: GitPlace, from: string, to: string): Promise<RawChange[]> {
  if (from === to) return [];
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to];
  const fields = (await git(place, args)).toString("latin1").split("\0");
  const changes: RawChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = "", mode = "", oldId = "", id = ""] = (fields[at] ?? "").slice(1).split(" ");
    changes.push({ path: fields[at + 1] ?? "", oldMode, mode, oldId, id });
  }
  return changes;
}
