/**
 * Owns where a task's things are: its directories, its repo, its settings, and the sandbox that it sees.
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

/** Of the task that comes next. */
export const nextNumber = ({ state }: Pick<Session, "state">) => (state.task?.number ?? 0) + 1;

export interface DefaultBase {
  readonly commit: string | null;
  /** Whether the user's newest commit names another one. */
  readonly isNamed: boolean;
}

/** What a session begins with where nobody says otherwise. */
export async function defaultBase(repo: Repo): Promise<DefaultBase> {
  const head = await resolveCommit(repo);
  const base = await baseNamedIn(repo, head);
  return { commit: base === undefined ? head : await resolveCommit(repo, base), isNamed: base !== undefined };
}

/** What goes beyond its quota is ended at the next look, and still has to be kept. */
const SNAPSHOT_FACTOR = 2;

/** Of a repo's file, as far as the user's settings allow it. */
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

/** What a task that begins with a commit may take. */
export async function readQuota(room: Pick<Room, "io" | "repo">, commit: string | null): Promise<Quota> {
  return quotaOf((await readConfig(room, commit)).quota, await readSettings(room.io.homeDir));
}

/** Of a checkpoint: its files, and HOME. */
export interface CheckpointLimits extends SnapshotLimits {
  readonly maxHomeBytes: number;
  /** Directories of HOME that stay where they are. */
  readonly homeExclude: readonly string[];
}

/** As the user's newest commit has them: a limit that is too low can be raised while the task is there. */
export async function currentLimits(room: Pick<Room, "io" | "repo">): Promise<CheckpointLimits> {
  const config = await readConfig(room, await resolveCommit(room.repo));
  const { max_home_mb, home_exclude = DEFAULT_EXCLUDE } = config.capsule;
  return {
    ...settingsOf(config, await readSettings(room.io.homeDir)).limits,
    maxHomeBytes: max_home_mb * MEGABYTE,
    homeExclude: home_exclude,
  };
}

/** TMPDIR of a task: nobody else's. */
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
  // Its layers were taken away from under it, and nothing was written since: its snapshot has all of it.
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
