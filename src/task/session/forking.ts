/**
 * Owns forking a session with its files: the child has the history up to a turn, and the files and HOME of
 * that turn. It inherits memory, but no approvals, token, ports, inbox or spending.
 *
 * What a kill leaves: before the child exists, a stage that `gc` clears, and snapshots for a session that
 * never came into being. After that, a child without a capsule, which gets its files when it is resumed.
 */
import { adoptSnapshots, dropSnapshots, hasSnapshot, openRepo, openStore } from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import {
  type ForkOptions,
  findSession,
  forkAt,
  forkPoint,
  type Home,
  NEW_SESSION,
  repoPathOf,
} from "../../home/index.ts";
import type { Session, SessionState } from "../../session/index.ts";
import { assertKnown, createFile, type Disk, homesPath, present } from "../../util/index.ts";
import { locatingDamage } from "../files/snapshot-damage.ts";
import { restore } from "../files/teardown.ts";
import { encodeHomes, readHomes } from "../home/homes.ts";
import { inheritWithheld } from "../home/withheld.ts";
import { discard, roomOf } from "./tasks.ts";

export async function forkSession(home: Home, idText: string, options: ForkOptions = {}): Promise<Session> {
  assertKnown("forkSession", options, [...NEW_SESSION, "atTurn"]);
  const found = await findSession(home, idText, options.user);
  const point = await forkPoint(found.dir, options.atTurn);
  const { stateThere, stateNow, remember } = point;
  const repo = options.repo ?? stateNow.repo;
  const path = repoPathOf(home, { repo, lacksRepo: stateNow.lacksRepo });
  const keeper = { ...found, repo: path };
  await locatingDamage(home, keeper, () => assertForkable(home, path, stateThere));
  const nameFrom = options.nameFrom ?? options.title ?? stateNow.name ?? undefined;
  const child = await forkAt(
    home,
    found,
    { ...options, ...present({ nameFrom }), user: found.user, repo },
    point,
    async (id, staged, disk) => {
      await locatingDamage(home, keeper, () => adoptFiles(home, path, stateThere, found.id, id));
      await inheritHomes(disk, found.dir, staged);
    },
  );
  remember();
  try {
    await locatingDamage(home, keeper, () => forkFiles(home, child));
    return child;
  } catch (error) {
    // Without the files that it is based on, the fork can't go on.
    if (isHoldfastError(error, "snapshot_invalid")) await discardFork(home, child);
    await child.release();
    throw error;
  }
}

/** The snapshot that a fork is based on must exist before the fork does. */
async function assertForkable(home: Home, repo: string | null, { task }: SessionState): Promise<void> {
  if (!task?.snapshot || repo === null) return;
  const store = await openStore(await openRepo(home, repo), home.io.disk);
  if (!(await hasSnapshot(store, task.snapshot.commit)))
    throw new HoldfastError(
      "snapshot_invalid",
      `snapshot ${task.snapshot.commit}, which the fork would begin with, is not in the store`,
      {
        snapshot: task.snapshot.commit,
      },
    );
}

/** Call it before the fork exists: afterwards the fork needs the files, whatever happens to its parent. */
async function adoptFiles(
  home: Home,
  repo: string | null,
  { task }: SessionState,
  parent: string,
  child: string,
): Promise<void> {
  if (!task?.snapshot || repo === null) return;
  await adoptSnapshots(await openStore(await openRepo(home, repo), home.io.disk), parent, child);
}

/** A fork gets its parent's table of imported HOMEs, and the list of contents that an export leaves out. */
async function inheritHomes(disk: Disk, parentDir: string, dir: string): Promise<void> {
  const homes = await readHomes(parentDir);
  if (homes.size > 0) await createFile(disk, homesPath(dir), encodeHomes(homes));
  await inheritWithheld(disk, parentDir, dir);
}

async function forkFiles(home: Home, child: Session): Promise<void> {
  if (!child.state.task?.snapshot || repoPathOf(home, child.state) === null) return;
  await restore(await roomOf(home, child));
}

/** Removes a fork whose files can't be made. Its id was never given out. */
async function discardFork(home: Home, child: Session): Promise<void> {
  const repo = repoPathOf(home, child.state);
  if (repo !== null) await dropSnapshots(await openStore(await openRepo(home, repo), home.io.disk), child.id);
  await discard(home, child);
}
