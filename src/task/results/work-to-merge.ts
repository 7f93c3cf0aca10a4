/**
 * Owns what a session has to merge: which commits of its branch, whether they may be merged, and how they are
 * put on another branch.
 */
import {
  branchTip,
  type Conflicted,
  isAncestor,
  openStore,
  type Replayed,
  type Repo,
  replay,
  toText,
  treeOf,
  userIdentity,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { type SessionState, taskUnderWay } from "../../session/index.ts";
import { tellStep } from "../../util/index.ts";
import { commitBelow } from "../files/starting-point.ts";
import type { Room } from "../room/room.ts";
import { messageOfAll } from "./publishing.ts";

export interface WorkToMerge {
  readonly task: number;
  /** The session's branch, and the last commit to merge. Commits that a person added to it are merged too. */
  readonly name: string;
  readonly from: string;
}

/** `begun`: a tree that the files may have, other than that of the branch. */
export async function workOf({ session, repo }: Room, begun?: string): Promise<WorkToMerge> {
  const { task, branch } = session.state;
  const facts = { session: session.id };
  const nothing = (why: string) => new HoldfastError("nothing_to_merge", why, facts);
  if (!task) throw nothing(`session ${session.id} has done nothing yet`);
  if (taskUnderWay(session.state))
    throw new HoldfastError(
      "merge_refused",
      `task ${task.number} is under way: wait for it, or end it with holdfast cancel`,
      facts,
    );
  if (task.outcome === "needs_review" && task.published === null)
    throw new HoldfastError("needs_review", `the work of task ${task.number} needs a review`, facts);
  if (task.snapshot?.tree !== begun && (await hasUnpublished(repo, session.state)))
    throw new HoldfastError(
      "merge_refused",
      `session ${session.id} has work that is not on its branch: publish it with holdfast branch, or undo it with holdfast rewind`,
      facts,
    );
  if (!branch?.tip) throw nothing(`session ${session.id} has not published any work`);
  const tip = await branchTip(repo, branch.name);
  if (tip === undefined) throw nothing(`the session's branch ${branch.name} does not exist any more`);
  const from = tipOfWork(session.state, { tip, below: await commitBelow(repo, task) });
  if (from === null) throw nothing(`a rewind has undone all work of session ${session.id}`);
  return { task: task.number, name: branch.name, from };
}

/**
 * A rewind leaves the branch where it is. The session's work then ends at the commit `below` its files, or there is none
 * (null). A tip that is merged already is named by the record of its merge, and one that a person made has their commits.
 */
export function tipOfWork(
  { branch, merged }: Pick<SessionState, "branch" | "merged">,
  { tip, below }: { readonly tip: string; readonly below: string | null },
): string | null {
  return tip === branch?.tip && tip !== merged?.from ? below : tip;
}

async function hasUnpublished(repo: Repo, { task }: SessionState): Promise<boolean> {
  if (!task?.snapshot) return false;
  return task.snapshot.tree !== (await treeOf(repo, await commitBelow(repo, task)));
}

export interface ReplayOptions {
  readonly from: string;
  readonly isSquashed?: boolean;
}

export async function replayOnto(
  { session, repo, io }: Room,
  { branch: into, tip }: { readonly branch: string; readonly tip: string },
  { from, isSquashed = false }: ReplayOptions,
): Promise<Replayed | Conflicted> {
  const { state } = session;
  const since = await mergedBefore(repo, state, { into, tip, from });
  if (since === from)
    throw new HoldfastError(
      "nothing_to_merge",
      `all work of session ${session.id} is already merged into ${into}`,
      {
        session: session.id,
      },
    );
  tellStep(io.onProgress, `replaying the work onto ${into}`);
  return replay({
    repo,
    store: await openStore(repo, io.disk),
    tip: from,
    onto: tip,
    since,
    identity: await userIdentity(repo),
    atMs: io.clock.nowMs(),
    squashedAs: isSquashed ? (subjects) => messageOfAll(state, subjects) : undefined,
  });
}

const NAMED_PATHS = 10;

/** `way`: how the work can be merged in spite of it. */
export function conflictWith(
  into: string,
  { paths: found, at, tree }: Conflicted,
  way: string,
): HoldfastError {
  const paths = found.map((path) => toText(path));
  const more = paths.length > NAMED_PATHS ? ` and ${paths.length - NAMED_PATHS} more` : "";
  return new HoldfastError(
    "merge_conflicts",
    `the work and ${into} both change ${paths.slice(0, NAMED_PATHS).join(", ")}${more}: ${way}`,
    { into, paths, at, tree },
  );
}

/** The commit up to which the branch has the session's work, even if its commits differ there. */
async function mergedBefore(
  repo: Repo,
  { merged }: Pick<SessionState, "merged">,
  { into, tip, from }: { readonly into: string; readonly tip: string; readonly from: string },
): Promise<string | undefined> {
  if (!merged || merged.into !== into) return undefined;
  const isStill = (await isAncestor(repo, merged.commit, tip)) && (await isAncestor(repo, merged.from, from));
  return isStill ? merged.from : undefined;
}
