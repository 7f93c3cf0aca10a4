/**
 * Owns collection and retention: what may go, and why. A plan is made first; `--dry-run` stops there.
 * G1 Nothing of a session is deleted unless a person says so, with `rm` or by setting `deleteArchivedDays`; by the
 *    latter only archived ones that old, and none that a person keeps.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { removeTree, renewHolds, sweepTrash } from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError, type SessionId } from "../../contract/index.ts";
import {
  abandonedStages,
  type Home,
  inspectAll,
  layBallast,
  listSessionIds,
  sessionDirOf,
} from "../../home/index.ts";
import { acquireOwner, probeOwner } from "../../journal/index.ts";
import { idOf, Maildir } from "../../mail/index.ts";
import { diskUse } from "../../process/index.ts";
import {
  type Inspected,
  inspectSession,
  isTaskOver,
  oldEnvironments,
  removeOldEnvironments,
  type SessionState,
} from "../../session/index.ts";
import { readSettings } from "../../task/index.ts";
import {
  blobsDir,
  errorCode,
  inboxDir,
  journalDir,
  type OnProgress,
  present,
  saying,
  TEMPORARY_PREFIX,
  tellStep,
  trashDir,
} from "../../util/index.ts";
import { archiveSession, finishArchiving, isPartlyCompressed } from "../archive.ts";
import { discardSession } from "../removal/discard.ts";
import { capsuleOwners, findLeftovers } from "./leftovers.ts";

export interface Retention {
  /** A session that was closed this long ago is archived. */
  readonly archiveClosedDays: number;
  /** An archived session this old is deleted. Without it, none ever is. */
  readonly deleteArchivedDays?: number;
}

export interface GcOptions {
  /** Only says what would be done. */
  readonly dryRun?: boolean;
  /** What is not said stands in the user's settings. */
  readonly retention?: Partial<Retention>;
}

/** As the user's settings say. */
async function readRetention(homeDir: string): Promise<Retention> {
  const { retention } = await readSettings(homeDir);
  const { archive_closed_days, delete_archived_days } = retention;
  return {
    archiveClosedDays: archive_closed_days,
    ...present({ deleteArchivedDays: delete_archived_days }),
  };
}

const DAY_MS = 24 * 60 * 60 * 1000;

export interface GcStep {
  readonly action: "archive" | "compress" | "delete" | "clear" | "repack";
  readonly what: string;
  readonly why: string;
  /** What it gave back of the disk, or would; null where nobody knows beforehand. */
  readonly freedBytes: number | null;
}

interface Planned extends Omit<GcStep, "freedBytes"> {
  /** What is there before it, and smaller or gone after it. */
  readonly paths: readonly string[];
  run(onProgress: OnProgress | undefined): Promise<void>;
}

const DOING: Readonly<Record<GcStep["action"], string>> = {
  archive: "archiving",
  compress: "compressing",
  delete: "deleting",
  clear: "clearing",
  repack: "repacking",
};

export interface GcResult {
  /** Of all steps together, as far as it is known. */
  readonly freedBytes: number;
  readonly done: readonly GcStep[];
  /** Steps that were left, with the reason: a session that somebody opened meanwhile, say. */
  readonly left: readonly (GcStep & { readonly reason: string })[];
}

export async function collectGarbage(
  home: Home,
  { dryRun = false, ...options }: GcOptions,
): Promise<GcResult> {
  const retention = { ...(await readRetention(home.dir)), ...options.retention };
  const done: GcStep[] = [];
  const left: (GcStep & { reason: string })[] = [];
  if (!dryRun) await renewHolds(home, capsuleOwners(home));
  tellStep(home.onProgress, "looking what may go");
  const steps = await plan(home, retention);
  // All of them first: what one step throws away, a sweep may take with what the next one is about.
  const bytesBefore: number[] = [];
  for (const { paths } of steps) bytesBefore.push((await diskUse(paths)).bytes);
  for (const [index, { run, paths, ...step }] of steps.entries()) {
    const before = bytesBefore[index] ?? 0;
    const which = `step ${index + 1} of ${steps.length}`;
    try {
      if (dryRun) {
        done.push({ ...step, freedBytes: SHRINKING.has(step.action) ? null : before });
        continue;
      }
      tellStep(home.onProgress, `${which}: ${DOING[step.action]} ${basename(step.what)}`);
      await run(saying(which, home.onProgress));
      done.push({ ...step, freedBytes: Math.max(0, before - (await diskUse(paths)).bytes) });
    } catch (error) {
      // One session that can't be tidied must not keep the others from it.
      if (!isHoldfastError(error) && errorCode(error) === undefined) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      left.push({ ...step, freedBytes: 0, reason });
    }
  }
  if (!dryRun) {
    // What was thrown away on the way.
    await sweepTrash(trashDir(home.dir));
    await layBallast(home.dir);
  }
  const freedBytes = done.reduce((sum, step) => sum + (step.freedBytes ?? 0), 0);
  return { freedBytes, done, left };
}

/** What these act on is smaller after them, and not gone. */
const SHRINKING: ReadonlySet<GcStep["action"]> = new Set(["archive", "compress", "repack"]);

async function plan(home: Home, retention: Retention): Promise<Planned[]> {
  const inspected = await inspectAll(home);
  const steps: Planned[] = [];
  for (const one of inspected) steps.push(...(await planSession(home, one, retention)));
  steps.push(...(await planUnborn(home, new Set(inspected.map(({ state }) => state.id)))));
  for (const path of await abandonedStages(home))
    steps.push(clear(path, "left by a process that ended before it was whole"));
  for (const { what, why, paths = [], isRepacked, clear: run } of await findLeftovers(home))
    steps.push({ action: isRepacked ? "repack" : "clear", what, why, paths, run });
  for (const name of await readdir(trashDir(home.dir)))
    steps.push(clear(join(trashDir(home.dir), name), "deleted before"));
  return steps;
}

async function planSession(
  home: Home,
  { state, damage }: Inspected,
  retention: Retention,
): Promise<Planned[]> {
  if (damage) return [];
  const id = state.id as SessionId;
  const dir = sessionDirOf(home, id);
  return [
    ...(await planLeftovers(home, id, dir)),
    ...(await planEnvironments(home, id, dir, state)),
    ...(await planRetention(home, id, dir, state, retention)),
  ];
}

async function planRetention(
  home: Home,
  id: SessionId,
  dir: string,
  state: SessionState,
  retention: Retention,
): Promise<Planned[]> {
  if (state.isKept) return [];
  const ageDays = (home.io.clock.nowMs() - Date.parse(state.updatedAt)) / DAY_MS;
  const since = `for ${Math.floor(ageDays)} days`;
  if (state.status === "closed" && ageDays >= retention.archiveClosedDays) {
    return [
      {
        action: "archive",
        what: id,
        why: `closed ${since}`,
        paths: [dir],
        run: async (onProgress) =>
          void (await archiveSession({ ...home, onProgress }, { id, dir, user: state.user })),
      },
    ];
  }
  if (state.status !== "archived") return [];
  if (retention.deleteArchivedDays !== undefined && ageDays >= retention.deleteArchivedDays) {
    return [
      {
        action: "delete",
        what: id,
        why: `archived ${since}`,
        paths: [dir],
        run: () => deleteSession(home, { id, dir }, state.seq),
      },
    ];
  }
  if (!(await isPartlyCompressed(dir))) return [];
  return [
    {
      action: "compress",
      what: id,
      why: "its archiving was cut off",
      paths: [dir],
      run: (onProgress) => finishArchiving({ ...home, onProgress }, { id, dir, user: state.user }),
    },
  ];
}

/** Files that were being written when their writer died. Under the lock: nobody is still writing them. */
async function planLeftovers(home: Home, id: SessionId, dir: string): Promise<Planned[]> {
  const paths: string[] = [];
  for (const folder of [dir, journalDir(dir), blobsDir(dir)]) {
    if (!existsSync(folder)) continue;
    const names = (await readdir(folder)).filter((name) => name.startsWith(TEMPORARY_PREFIX));
    paths.push(...names.map((name) => join(folder, name)));
  }
  if (paths.length === 0) return [];
  const run = async () => {
    const lock = await acquireOwner(dir);
    try {
      for (const path of paths) await home.io.disk.removeTree(path);
    } finally {
      lock.release();
    }
  };
  return [{ action: "clear", what: id, why: `${paths.length} half-written files`, paths, run }];
}

/** Values for tasks that are over, or never came to be asked for. */
async function planEnvironments(
  home: Home,
  id: SessionId,
  dir: string,
  state: SessionState,
): Promise<Planned[]> {
  const inbox = new Maildir(home.io.disk, inboxDir(dir));
  const isNeeded = (waiting: readonly string[], now: SessionState) => (request: string) =>
    !isTaskOver(now, request) || waiting.some((name) => idOf(name) === request);
  const old = oldEnvironments(dir, isNeeded(await inbox.waiting(), state));
  if (old.length === 0 || probeOwner(dir).held) return [];
  const run = async () => {
    const lock = await acquireOwner(dir);
    try {
      const { state: now } = await inspectSession(dir);
      await removeOldEnvironments(home.io.disk, dir, isNeeded(await inbox.waiting(), now));
    } finally {
      lock.release();
    }
  };
  return [{ action: "clear", what: id, why: "values of tasks that are over", paths: old, run }];
}

/** A session that was never acknowledged to anyone: not one record, not one blob. */
async function planUnborn(home: Home, born: ReadonlySet<string>): Promise<Planned[]> {
  const steps: Planned[] = [];
  for (const id of await listSessionIds(home)) {
    const dir = sessionDirOf(home, id);
    if (born.has(id) || probeOwner(dir).held) continue;
    const isEmpty = await Promise.all(
      [journalDir(dir), blobsDir(dir)].map(
        async (path) => !existsSync(path) || (await readdir(path)).length === 0,
      ),
    );
    if (isEmpty.every(Boolean)) steps.push(clear(dir, "has no record"));
  }
  return steps;
}

/** G1: as its owner, and only if nothing has happened to it since it was found old enough. */
async function deleteSession(
  home: Home,
  session: { readonly id: SessionId; readonly dir: string },
  seq: number,
): Promise<void> {
  await discardSession(home, session, async () => {
    const { state, damage } = await inspectSession(session.dir);
    if (damage || state.status !== "archived" || state.isKept || state.seq !== seq)
      throw new HoldfastError("illegal_transition", `the session is ${state.status} now`, {
        status: state.status,
      });
  });
}

function clear(path: string, why: string): Planned {
  return { action: "clear", what: path, why, paths: [path], run: () => removeTree(path) };
}
