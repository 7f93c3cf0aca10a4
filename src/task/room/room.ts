/**
 * Owns where a task's things are: its directories, its repo, its settings, and the sandbox that it sees.
 */
import { mkdir } from "node:fs/promises";
import {
  type Capsule,
  type CapsuleIo,
  type CapsuleSettings,
  findHanded,
  isUsersCommit,
  type Repo,
  readCommittedBytes,
  remember,
  resolveCommit,
  type SnapshotLimits,
} from "../../capsule/index.ts";
import { CONFIG_FILE, type Config, defaultConfig, parseConfig, type Settings } from "../../config/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import type { Session } from "../../session/index.ts";
import { capsuleDir, scratchDir } from "../../util/index.ts";
import { DEFAULT_EXCLUDE } from "../home/home-files.ts";
import { MEGABYTE, type Quota, quotaOf, readSettings } from "./quota.ts";

export interface Room {
  readonly io: CapsuleIo;
  readonly session: Session;
  readonly sessionDir: string;
  readonly trashDir: string;
  readonly repo: Repo;
}

/** The settings that hold for a commit: those of its holdfast.yaml, or the user's own if a task made it. */
export async function readConfig(repo: Repo, commit: string | null): Promise<Config> {
  if (commit === null) return defaultConfig;
  const from = (await isUsersCommit(repo, commit)) ? commit : await resolveCommit(repo);
  return remember(repo, `config of ${from}`, async () => {
    const text = await readCommittedBytes(repo, from, CONFIG_FILE);
    return text === undefined ? defaultConfig : parseConfig(text.toString("utf8"));
  });
}

export interface DefaultBase {
  readonly commit: string | null;
  /** Whether the user's newest commit names another one. */
  readonly isNamed: boolean;
}

/** What a session begins with where nobody says otherwise. */
export async function defaultBase(repo: Repo): Promise<DefaultBase> {
  const head = await resolveCommit(repo);
  const { base } = await readConfig(repo, head);
  return { commit: base === undefined ? head : await resolveCommit(repo, base), isNamed: base !== undefined };
}

/** What goes beyond its quota is ended at the next look, and still has to be kept. */
const SNAPSHOT_FACTOR = 2;

/** Of a repo's file, as far as the user's settings allow it. */
export function settingsOf({ capsule }: Config, { quota: allowed }: Settings): CapsuleSettings {
  const maxBytes = SNAPSHOT_FACTOR * allowed.disk_mb * MEGABYTE;
  return {
    strategy: capsule.strategy,
    setup: capsule.setup,
    include: capsule.include,
    ports: capsule.ports,
    limits: {
      maxSnapshotBytes: Math.min(capsule.max_snapshot_mb * MEGABYTE, maxBytes),
      maxIgnoredBytes: Math.min(capsule.max_ignored_mb * MEGABYTE, maxBytes),
    },
  };
}

/** What a task that begins with a commit may take. */
export async function readQuota(
  { io, repo }: Pick<Room, "io" | "repo">,
  commit: string | null,
): Promise<Quota> {
  return quotaOf((await readConfig(repo, commit)).quota, await readSettings(io.homeDir));
}

/** As the user's newest commit has it: a limit that is too low can be raised while the task is there. */
async function currentConfig(repo: Repo): Promise<Config> {
  return readConfig(repo, await resolveCommit(repo));
}

/** Of a checkpoint: its files, and HOME. */
export interface CheckpointLimits extends SnapshotLimits {
  readonly maxHomeBytes: number;
  /** Directories of HOME that stay where they are. */
  readonly homeExclude: readonly string[];
}

export async function currentLimits({ io, repo }: Pick<Room, "io" | "repo">): Promise<CheckpointLimits> {
  const config = await currentConfig(repo);
  const { max_home_mb, home_exclude = DEFAULT_EXCLUDE } = config.capsule;
  return {
    ...settingsOf(config, await readSettings(io.homeDir)).limits,
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
