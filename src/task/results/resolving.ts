/**
 * Owns giving a conflict back to the session: its work and the target branch, merged as far as git can, with
 * conflict markers in the rest. The session's next task begins with these files, on the tip of that branch,
 * and its published work can then be merged.
 *
 * What a kill leaves: a capsule that gc clears away, and perhaps a snapshot that no journal names. The
 * session itself is unchanged.
 */
import { findTarget, isConflicted, toText } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { readSettings } from "../../home/index.ts";
import { lastTurnOf } from "../../session/index.ts";
import { settleLast } from "../files/begin.ts";
import { readConfig } from "../room/config.ts";
import { quotaOf } from "../room/quota.ts";
import { currentLimits, type Room, settingsOf } from "../room/room.ts";
import { makeExactFiles, removeExactFiles } from "../verify/exact-files.ts";
import type { MergeOptions } from "./merging.ts";
import { replayOnto, workOf } from "./work-to-merge.ts";

export interface ConflictedFiles {
  readonly into: string;
  /** The tip of that branch. */
  readonly base: string;
  /** A snapshot of the files, with the markers. */
  readonly snapshot: string;
  readonly tree: string;
  /** The files that have markers. */
  readonly paths: readonly string[];
}

/** For a session at rest that the caller owns. */
export async function conflictedFiles(
  room: Room,
  options: Pick<MergeOptions, "into">,
): Promise<ConflictedFiles> {
  const { session, repo, io } = room;
  await settleLast(room);
  const { from } = await workOf(room);
  const { branch: into, tip: base } = await findTarget(repo, options.into);
  // All of the work is merged at once: what one commit does and the next undoes need not be resolved.
  const target = { branch: into, tip: base };
  const result = await replayOnto(room, target, { from, isSquashed: true });
  if (!isConflicted(result)) {
    const how = isConflicted(await replayOnto(room, target, { from }))
      ? "holdfast merge --squash"
      : "holdfast merge";
    const facts = { session: session.id, into };
    throw new HoldfastError(
      "merge_refused",
      `the work does not conflict with ${into}: merge it with ${how}`,
      facts,
    );
  }
  const { tree } = result;
  const config = await readConfig(room, base);
  const own = await readSettings(io.homeDir);
  const { capsule } = await makeExactFiles(room, {
    tree,
    base,
    settings: settingsOf(config, own),
    quota: quotaOf(config.quota, own),
    isSandboxed: session.state.task?.isSandboxed ?? true,
    signal: new AbortController().signal,
  });
  try {
    // Its git is on the target branch, so the merged work is the difference.
    await capsule.standOn(base);
    const name = `${session.state.task?.number ?? 0}.${lastTurnOf(session.state)}.${io.clock.nowMs()}`;
    const { commit: snapshot } = await capsule.snapshot(name, await currentLimits(room));
    return { into, base, snapshot, tree, paths: result.paths.map((path) => toText(path)) };
  } finally {
    await removeExactFiles(room, capsule);
  }
}
