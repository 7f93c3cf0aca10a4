/**
 * Owns a conflict that is given back: the session's work and the branch that it should go into, brought together as far
 * as git can, with markers in the rest. The session's next task begins with these files, on the tip of that branch; what
 * it publishes can be merged.
 *
 * What a kill leaves: a capsule that gc clears away, and perhaps a snapshot that no journal names. Nothing of the session
 * has changed.
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
  /** A snapshot of the files, markers and all. */
  readonly snapshot: string;
  readonly tree: string;
  /** Where the markers are. */
  readonly paths: readonly string[];
}

/** Of a session at rest that the caller owns. */
export async function conflictedFiles(
  room: Room,
  options: Pick<MergeOptions, "into">,
): Promise<ConflictedFiles> {
  const { session, repo, io } = room;
  await settleLast(room);
  const { from } = await workOf(room);
  const { branch: into, tip: base } = await findTarget(repo, options.into);
  // All of the work at once: what one commit does and the next undoes is no conflict to resolve.
  const result = await replayOnto(room, { branch: into, tip: base }, { from, isSquashed: true });
  if (!isConflicted(result))
    throw new HoldfastError(
      "merge_refused",
      `the work does not collide with ${into}: holdfast merge merges it`,
      {
        session: session.id,
        into,
      },
    );
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
    // Its git stands on the branch: what was brought together is what differs.
    await capsule.standOn(base);
    const name = `${session.state.task?.number ?? 0}.${lastTurnOf(session.state)}.${io.clock.nowMs()}`;
    const { commit: snapshot } = await capsule.snapshot(name, await currentLimits(room));
    return { into, base, snapshot, tree, paths: result.paths.map((path) => toText(path)) };
  } finally {
    await removeExactFiles(room, capsule);
  }
}
