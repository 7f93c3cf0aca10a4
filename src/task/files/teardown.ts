/**
 * Owns teardown and restore. Teardown takes a snapshot, ends all processes, renames the directory away, gives
 * the ports back and writes the record. A crash after any of these steps leaves a capsule that is torn down
 * again, or no capsule, and then the next access writes the record.
 */
import {
  type Capsule,
  dropOnlyCopies,
  findBadObjects,
  moveToTrash,
  openStore,
  restoreCapsule,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { readSettings } from "../../home/index.ts";
import { capsuleDir, type OnProgress, scratchDir } from "../../util/index.ts";
import { giveBackCaches } from "../home/home-caches.ts";
import { bringHome } from "../home/session-home.ts";
import { branchOf } from "../results/publishing.ts";
import { readConfig } from "../room/config.ts";
import { laneOf } from "../room/lane.ts";
import { currentLimits, openCapsule, type Room, readQuota, settingsOf } from "../room/room.ts";
import { canSandbox, sandboxOf } from "../room/sandbox.ts";
import { setupFor } from "../room/setup.ts";
import { readSnapshot, takeCheckpoint } from "./checkpoint.ts";

export interface Receipt {
  readonly task: number;
  /** Null when the capsule's files were already missing, and no snapshot of them was ever taken. */
  readonly snapshot: string | null;
  readonly freedBytes: number;
  /** The size of the caches that were deleted from HOME; not part of `freedBytes`. */
  readonly cacheBytes: number;
  readonly ports: readonly number[];
  /** Ignored files beyond the limit. They are deleted. */
  readonly omitted: readonly string[];
  /** Whether the files were already missing because another program had deleted them. */
  readonly wasMissing: boolean;
}

export interface TeardownOptions {
  /** Delete ignored files beyond `max_ignored_mb`. */
  readonly dropIgnored?: boolean;
  /**
   * Another capsule takes its place. It needs HOME's caches, and with overlays its layers keep the files that
   * the snapshot leaves out.
   */
  readonly isReplaced?: boolean;
}

export async function tearDown(room: Room, options: TeardownOptions = {}): Promise<Receipt> {
  const { session, sessionDir, io, trashDir, repo } = room;
  const { task } = session.state;
  const capsule = await openCapsule(room);
  if (!task || task.capsule === "none")
    throw new HoldfastError("no_capsule", `session ${session.id} has no capsule`, { session: session.id });
  // A rewind that was cut off: after this, no record would tell that HOME has to go back too.
  if (task.capsule === "rewound") await bringHome(room);
  if (!capsule) {
    if (task.capsule === "torn_down")
      throw new HoldfastError("no_capsule", `the capsule of task ${task.number} is already torn down`);
    const snapshot = task.snapshot?.commit ?? null;
    await session.append("capsule_torn_down", {
      task: task.number,
      freedBytes: 0,
      ...(snapshot && { snapshot }),
    });
    const cacheBytes = await giveBackCaches(room);
    return {
      task: task.number,
      snapshot,
      freedBytes: 0,
      cacheBytes,
      ports: [],
      omitted: [],
      wasMissing: true,
    };
  }
  // A process that still runs could write after the snapshot.
  await capsule.detach();
  const { snapshot } = await takeCheckpoint(room, capsule, await currentLimits(room));
  const omitted = snapshot.manifest.omitted.map(({ path }) => path);
  await capsule.settle(snapshot);
  const { strategy, settled } = capsule.spec;
  const isKept = options.isReplaced && strategy === "overlay" && settled === snapshot.commit;
  if (options.dropIgnored) await dropOnlyCopies(io.disk, repo, capsule.spec);
  else if (omitted.length > 0 && !isKept) {
    await capsule.detach();
    throw new HoldfastError(
      "snapshot_too_large",
      `${omitted.length} ignored files, such as ${JSON.stringify(omitted[0])}, are beyond max_ignored_mb and would be lost; --drop-ignored deletes them`,
      { omitted },
    );
  }
  if (!isKept) await assertWhole(capsule, snapshot.commit, io.onProgress);
  const leased = Object.values(capsule.spec.ports);
  const scratch = scratchDir(sessionDir, task.number);
  await moveToTrash(io.disk, trashDir, scratch, `${session.id}-tmp-${io.clock.nowMs()}`);
  await capsule.remove(trashDir, `${session.id}-${task.number}-${io.clock.nowMs()}`);
  await session.append("capsule_torn_down", {
    task: task.number,
    snapshot: snapshot.commit,
    freedBytes: snapshot.bytes,
  });
  return {
    task: task.number,
    snapshot: snapshot.commit,
    freedBytes: snapshot.bytes,
    cacheBytes: options.isReplaced ? 0 : await giveBackCaches(room),
    ports: leased,
    omitted,
    wasMissing: false,
  };
}

/**
 * task-2: the capsule may be the last good copy. Objects that the store already had were not written again,
 * and may have been damaged since.
 */
async function assertWhole(
  capsule: Capsule,
  snapshot: string,
  onProgress: OnProgress | undefined,
): Promise<void> {
  const { bad } = await findBadObjects(await capsule.store(), [snapshot], onProgress);
  const found = bad.get(snapshot);
  if (!found) return;
  await capsule.detach();
  throw new HoldfastError(
    "snapshot_invalid",
    `${found.path === "" ? "the snapshot" : JSON.stringify(found.path)} is damaged in the store (${found.reason}), so the capsule was not torn down`,
    { snapshot },
  );
}

export interface Restored {
  readonly task: number;
  readonly snapshot: string;
  readonly strategy: string;
  /** Sockets and devices have no content that could be restored. */
  readonly left: readonly string[];
}

/** Restores the files of the last checkpoint, in a new capsule. */
export async function restore(room: Room, options: { readonly sandbox?: boolean } = {}): Promise<Restored> {
  const { session, sessionDir, io, repo } = room;
  const { task } = session.state;
  if (!task?.snapshot)
    throw new HoldfastError("no_snapshot", `session ${session.id} has no snapshot to restore`, {
      session: session.id,
    });
  if (await openCapsule(room))
    throw new HoldfastError("capsule_exists", `the capsule of task ${task.number} already exists`, {
      task: task.number,
    });
  const settings = settingsOf(await readConfig(room, task.base), await readSettings(io.homeDir));
  const quota = await readQuota(room, task.base);
  const dir = capsuleDir(sessionDir, task.number);
  const isSandboxed = options.sandbox ?? (await canSandbox(io.homeDir));
  const sandbox = isSandboxed
    ? await sandboxOf(room, { quota, lane: await laneOf(room, task.base) })
    : undefined;
  const hosts = settings.setupHosts;
  const runSetup = setupFor(room, { task: task.number, sandbox, hosts, quota, onOutput: () => {} });
  await readSnapshot(await openStore(repo, io.disk), task.snapshot);
  const branch = branchOf(session.state);
  const request = {
    dir,
    session: session.id,
    branch,
    task: task.number,
    repo,
    settings,
    sandbox,
    runSetup,
  };
  const { capsule, left } = await restoreCapsule(io, request, task.snapshot.commit);
  await capsule.detach();
  await bringHome(room);
  await session.append("capsule_restored", { task: task.number, snapshot: task.snapshot.commit });
  return { task: task.number, snapshot: task.snapshot.commit, strategy: capsule.spec.strategy, left };
}
