/**
 * Owns checkpoints: a capsule's files and the journal's position, as one. The snapshot is on disk before the
 * record that names it. A crash in between leaves a snapshot that no record names, and loses nothing.
 */
import {
  type Capsule,
  type Contents,
  contentsOf,
  makeWork,
  type NamedSnapshot,
  type Repo,
  readNamedManifest,
  type Snapshot,
  type SnapshotLimits,
  type SnapshotManifest,
  type Store,
  toText,
  userIdentity,
  type Work,
} from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { lastTurnOf, type Session, type SnapshotState } from "../../session/index.ts";
import { tellStep } from "../../util/index.ts";
import { snapshotRoots } from "../home/roots.ts";
import { homeRoot } from "../home/session-home.ts";
import { noteWithheld } from "../home/withheld.ts";
import type { CheckpointLimits, Room } from "../room/room.ts";

/** A program that writes without end must not block the checkpoint forever. */
const ATTEMPTS = 3;

const NAMED_PATHS = 5;
const MAX_NAME = 200;

export interface Checkpoint {
  readonly snapshot: Snapshot;
  readonly work: Work;
}

export async function takeCheckpoint(
  room: Room,
  capsule: Capsule,
  limits: CheckpointLimits,
): Promise<Checkpoint> {
  const { session, io } = room;
  const { task } = session.state;
  const turn = lastTurnOf(session.state);
  if (!task) throw new HoldfastError("no_capsule", "the session has no task, so it has no files to save");
  // checkpoint-1: running processes are frozen while files and HOME are read. In a sandbox none runs then.
  const { isSandboxed } = capsule.spec;
  using _ = isSandboxed ? undefined : capsule.freeze();
  const name = `${task.number}.${turn}.${io.clock.nowMs()}`;
  tellStep(io.onProgress, "looking for changes");
  const snapshot = await snapshotSteadily(capsule, name, limits);
  // Without a sandbox, HOME is the user's own.
  const home = isSandboxed ? await homeRoot(room, limits) : undefined;
  const roots = await snapshotRoots(room, name, home ? [home] : []);
  const { snapshot: commit, manifest } = roots.home ?? {};
  if (commit !== undefined && manifest !== undefined) await noteWithheld(room, { commit, manifest });
  tellStep(io.onProgress, "preparing the commit of the work");
  const work = await workOf(room.repo, session, capsule, snapshot, io.clock.nowMs());
  const omitted = snapshot.manifest.omitted.length;
  const unanswered = snapshot.unanswered.length;
  await session.append("snapshot_taken", {
    task: task.number,
    snapshot: snapshot.commit,
    tree: work.tree,
    manifest: snapshot.manifestSha256,
    turn,
    ...(omitted > 0 && { omitted }),
    ...(isSandboxed && { home: {} }),
    ...roots,
    ...(unanswered > 0 && {
      unanswered,
      unansweredPaths: snapshot.unanswered
        .slice(0, NAMED_PATHS)
        .map((path) => toText(path).slice(0, MAX_NAME)),
    }),
  });
  await session.append("checkpoint_taken", { turn, snapshot: snapshot.commit });
  return { snapshot, work };
}

async function snapshotSteadily(capsule: Capsule, name: string, limits: SnapshotLimits): Promise<Snapshot> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await capsule.snapshot(name, limits);
    } catch (error) {
      if (!isHoldfastError(error, "snapshot_raced") || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function workOf(
  repo: Repo,
  session: Session,
  capsule: Capsule,
  snapshot: Snapshot,
  atMs: number,
): Promise<Work> {
  const store = await capsule.store();
  const { manifest, contents, converted } = snapshot;
  return makeWork({
    repo,
    store,
    manifest,
    contents,
    converted,
    identity: await userIdentity(repo),
    message: `Work of ${session.id}\n`,
    atMs,
  });
}

/** Reads a snapshot that a journal names, and compares it with what the journal recorded. */
export async function readSnapshot(
  store: Store,
  named: NamedSnapshot,
): Promise<Contents & { readonly manifest: SnapshotManifest }> {
  const manifest = await readNamedManifest(store, named);
  return { manifest, ...(await contentsOf(store, named.commit, manifest)) };
}

/** Makes the work of a snapshot again. The result must be the tree that the journal names. */
export async function workAgain(
  { repo, id }: { readonly repo: Repo; readonly id: string },
  store: Store,
  named: NamedSnapshot & Pick<SnapshotState, "tree">,
): Promise<Work> {
  const { manifest, contents, converted } = await readSnapshot(store, named);
  const identity = await userIdentity(repo);
  const work = await makeWork({
    repo,
    store,
    manifest,
    contents,
    converted,
    identity,
    message: `Work of ${id}\n`,
    atMs: 0,
  });
  if (work.tree !== named.tree)
    throw new HoldfastError(
      "snapshot_invalid",
      `snapshot ${named.commit} results in tree ${work.tree}, but the journal recorded ${named.tree}`,
    );
  return work;
}
