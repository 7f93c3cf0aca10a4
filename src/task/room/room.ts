/**
 * Owns the place of a task: its directories, its repo, its settings, and the sandbox that it sees.
 */
import { mkdir } from "node:fs/promises";
import {
  type Capsule,
  type CapsuleIo,
  type CapsuleSettings,
  findHanded,
  type Repo,
  resolveCommit,
  type SnapshotLimits,
} from "../../capsule/index.ts";
import type { Settings } from "../../config/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { readSettings } from "../../home/index.ts";
import type { AcceptedConfig } from "../../lane/index.ts";
import type { Session } from "../../session/index.ts";
import { capsuleDir, scratchDir } from "../../util/index.ts";
import { DEFAULT_EXCLUDE } from "../home/home-files.ts";
import { baseNamedIn, readConfig } from "./config.ts";
import { MEGABYTE, type Quota, quotaOf } from "./quota.ts";

export interface Room {
  readonly io: CapsuleIo;
  readonly session: Session;
  readonly sessionDir: string;
  readonly trashDir: string;
  readonly repo: Repo;
}

/** The number of the next task. */
export const nextNumber = ({ state }: Pick<Session, "state">) => (state.task?.number ?? 0) + 1;

export interface DefaultBase {
  readonly commit: string | null;
  /** Whether the user's newest commit names another commit as the base. */
  readonly isNamed: boolean;
}

/** What a session begins with when no base is given. */
export async function defaultBase(repo: Repo): Promise<DefaultBase> {
  const head = await resolveCommit(repo);
  const base = await baseNamedIn(repo, head);
  return { commit: base === undefined ? head : await resolveCommit(repo, base), isNamed: base !== undefined };
}

/** Work beyond the quota is ended at the next look of the watch, and still has to be saved. */
const SNAPSHOT_FACTOR = 2;

/** The settings of a repo's file, as far as the user's settings allow them. */
export function settingsOf(
  { capsule, setup_hosts: setupHosts }: AcceptedConfig,
  { quota: allowed }: Settings,
): CapsuleSettings {
  const maxBytes = SNAPSHOT_FACTOR * allowed.disk_mb * MEGABYTE;
  return {
    strategy: capsule.strategy,
    setup: capsule.setup,
    setupHosts,
    include: capsule.include,
    ports: capsule.ports,
    limits: {
      maxSnapshotBytes: Math.min(capsule.max_snapshot_mb * MEGABYTE, maxBytes),
      maxIgnoredBytes: Math.min(capsule.max_ignored_mb * MEGABYTE, maxBytes),
    },
  };
}

/** How much a task that begins with this commit may use. */
export async function readQuota(room: Pick<Room, "io" | "repo">, commit: string | null): Promise<Quota> {
  return quotaOf((await readConfig(room, commit)).quota, await readSettings(room.io.homeDir));
}

/** The limits of a checkpoint: for its files, and for HOME. */
export interface CheckpointLimits extends SnapshotLimits {
  readonly maxHomeBytes: number;
  /** Directories of HOME that are left out. */
  readonly homeExclude: readonly string[];
}

/** The limits in the user's newest commit. So a limit that is too low can be raised while the task exists. */
export async function currentLimits(room: Pick<Room, "io" | "repo">): Promise<CheckpointLimits> {
  const config = await readConfig(room, await resolveCommit(room.repo));
  const own = await readSettings(room.io.homeDir);
  const { max_home_mb, home_exclude = DEFAULT_EXCLUDE } = config.capsule;
  return {
    ...settingsOf(config, own).limits,
    maxHomeBytes: Math.min(max_home_mb, SNAPSHOT_FACTOR * own.quota.disk_mb) * MEGABYTE,
    homeExclude: home_exclude,
  };
}

/** Makes TMPDIR for a task, which no other task uses. */
export async function makeScratch(sessionDir: string, task: number): Promise<string> {
  const tmp = scratchDir(sessionDir, task);
  await mkdir(tmp, { recursive: true, mode: 0o700 });
  return tmp;
}

export async function openCapsule({
  io,
  repo,
  sessionDir,
  session,
  trashDir,
}: Room): Promise<Capsule | undefined> {
  const { task } = session.state;
  const dirOf = (number: number) => capsuleDir(sessionDir, number);
  const capsule = task ? await findHanded(io, repo, task.number, dirOf) : undefined;
  if (!capsule?.isHollow || !task?.snapshot) return capsule;
  // Its layers were removed under it, and nothing was written since: its snapshot has all of it.
  await capsule.remove(trashDir, `${session.id}-hollow-${io.clock.nowMs()}`);
  return undefined;
}

export async function requireCapsule(room: Room): Promise<Capsule> {
  const capsule = await openCapsule(room);
  if (!capsule)
    throw new HoldfastError("no_capsule", `session ${room.session.id} has no capsule now`, {
      session: room.session.id,
    });
  return capsule;
}
