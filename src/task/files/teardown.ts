/**
 * Owns teardown and its undoing. Teardown: snapshot, processes gone, directory renamed away, ports given back,
 * record. What a crash leaves after each step: a capsule that is torn down again; or none, and the record is
 * made up for by the next look at it.
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
  /** Null when the capsule's files were gone already, and no snapshot of them was ever taken. */
  readonly snapshot: string | null;
  readonly freedBytes: number;
  /** What HOME gave back of its caches, beside that. */
  readonly cacheBytes: number;
  readonly ports: readonly number[];
  /** Ignored files beyond the limit: they are gone. */
  readonly omitted: readonly string[];
  /** What was found missing: files that somebody else took away. */
  readonly wasMissing: boolean;
}

export interface TeardownOptions {
  /** Let go of ignored files beyond `max_ignored_mb`. */
  readonly dropIgnored?: boolean;
  /** Another one takes its place: it wants HOME's caches, and on an overlay the layers keep what the snapshot leaves out. */
  readonly isReplaced?: boolean;
}

export async function tearDown(room: Room, options: TeardownOptions = {}): Promise<Receipt> {
  const { session, sessionDir, io, trashDir, repo } = room;
  const { task } = session.state;
  const capsule = await openCapsule(room);
  if (!task || task.capsule === "none")
    throw new HoldfastError("no_capsule", `session ${session.id} has no capsule`, { session: session.id });
  // A rewind that was cut off: after this nothing tells that HOME is to go back too.
  if (task.capsule === "rewound") await bringHome(room);
  if (!capsule) {
    if (task.capsule === "torn_down")
      throw new HoldfastError("no_capsule", `the capsule of task ${task.number} was torn down before`);
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
  // What still runs could write after the snapshot.
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
      `${omitted.length} ignored files are beyond max_ignored_mb and would be lost, ${JSON.stringify(omitted[0])} among them; --drop-ignored lets them go`,
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
 * T2: the capsule may be the last good copy. What was in the store before was not written again, and may have been
 * damaged since.
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
    `the store has ${found.path === "" ? "the snapshot" : JSON.stringify(found.path)} damaged (${found.reason}), so the capsule stays as it is`,
    { snapshot },
  );
}

export interface Restored {
  readonly task: number;
  readonly snapshot: string;
  readonly strategy: string;
  /** Sockets and devices have no content to bring back. */
  readonly left: readonly string[];
}

/** Brings the files of the last checkpoint back, in a capsule of their own. */
export async function restore(room: Room, options: { readonly sandbox?: boolean } = {}): Promise<Restored> {
  const { session, sessionDir, io, repo } = room;
  const { task } = session.state;
  if (!task?.snapshot)
    throw new HoldfastError("no_snapshot", `session ${session.id} has no snapshot to restore`, {
      session: session.id,
    });
  if (await openCapsule(room))
    throw new HoldfastError("capsule_exists", `the capsule of task ${task.number} is there`, {
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
