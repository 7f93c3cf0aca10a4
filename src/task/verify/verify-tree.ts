/**
 * Owns verifying a tree: runs the checks that the repo's file at the base names, in order, each on exactly
 * this tree.
 *
 * verify-3 The checked tree is the tree that would be published: it is fixed first, and everything runs on
 *    files of it.
 * verify-4 If no check ran, nothing has passed: the verdict is `unverified`.
 * verify-6 What set-up or a check changes in the files reaches no other check, and none of them passes that
 *    changes the tree.
 */
import {
  type CapsuleSettings,
  changesBetween,
  isInputOf,
  openStore,
  type RawChange,
  toText,
  treeOf,
} from "../../capsule/index.ts";
import type { CheckSettings } from "../../config/index.ts";
import type { Verdict } from "../../contract/index.ts";
import { readSettings } from "../../home/index.ts";
import type { AcceptedConfig } from "../../lane/index.ts";
import { present } from "../../util/index.ts";
import { readConfig } from "../room/config.ts";
import { quotaOf } from "../room/quota.ts";
import { type Room, settingsOf } from "../room/room.ts";
import { runCheck } from "./check.ts";
import { CheckRoom } from "./check-room.ts";
import { aheadOfChecks, type ExactFiles } from "./exact-files.ts";
import { dueChecks, uncoveredBy, watchedIn } from "./watching.ts";

export interface TreeToVerify {
  readonly tree: string;
  /** The commit that the tree is compared with. Its file names the checks. */
  readonly base: string | null;
  /** For a merge: the branch that the tree is to become. */
  readonly into?: string;
}

export interface Verification {
  readonly tree: string;
  readonly verdict: Verdict;
  /** The names of the checks that failed. */
  readonly failed: readonly string[];
}

/** A record names this many files of each kind, and counts the others. */
const MAX_NAMED = 100;
/** Set-up counts as a check when a task changed what it installs. */
const SETUP = "capsule.setup";
const SETUP_MINUTES = 60;
const SETUP_ADVICE =
  "the checks would not run on the files that are published. If that is a lock file, the work needs it in its up-to-date form: npm install rewrites it, npm ci does not";

/** Undefined: it was stopped from outside, and there is no verdict. */
export async function verifyTree(
  room: Room,
  of: TreeToVerify,
  stop: AbortSignal = new AbortController().signal,
): Promise<Verification | undefined> {
  const { base } = of;
  const config = await readConfig(room, base);
  const isSandboxed = room.session.state.task?.isSandboxed ?? true;
  const ahead = config.checks.length > 0 && isSandboxed ? await aheadOfChecks(room) : undefined;
  // The last room is removed while the verdict is written.
  const rooms: Rooms = { ending: Promise.resolve() };
  try {
    return await verify(room, of, { config, isSandboxed, ahead, rooms, stop });
  } catch (error) {
    await ahead?.end();
    throw error;
  } finally {
    await rooms.ending;
  }
}

interface Rooms {
  /** Of the last one. */
  ending: Promise<void>;
}

interface Verifying extends Pick<ExactFiles, "isSandboxed" | "ahead"> {
  readonly config: AcceptedConfig;
  readonly rooms: Rooms;
  readonly stop: AbortSignal;
}

async function verify(room: Room, of: TreeToVerify, verifying: Verifying): Promise<Verification | undefined> {
  const { session, repo, io } = room;
  const { tree, base, into } = of;
  const { config, ahead } = verifying;
  const store = await openStore(repo, io.disk);
  const changes = await changesBetween(repo, store, await treeOf(repo, base), tree);
  const names = changes.map(({ path }) => toText(path));
  const { due, skipped } = dueChecks(config.checks, names);
  if (due.length === 0) await ahead?.end();
  const failed = due.length === 0 ? [] : await runChecks(room, of, { ...verifying, due, names, changes });
  if (!failed) return undefined;
  const verdict = due.length === 0 ? "unverified" : failed.length === 0 ? "passed" : "failed";
  const watched = watchedIn(names, config.checks);
  const uncovered = due.length === 0 ? [] : uncoveredBy(config.checks, names);
  const more = { watched: unnamed(watched), uncovered: unnamed(uncovered) };
  await session.append("verification_ended", {
    task: session.state.task?.number ?? 0,
    tree,
    verdict,
    ...present({ into }),
    ...(skipped.length > 0 && { skipped: skipped.map(({ name }) => name) }),
    ...(watched.length > 0 && {
      watched: watched.slice(0, MAX_NAMED).map(({ path, why }) => ({ path, why })),
    }),
    ...(uncovered.length > 0 && { uncovered: uncovered.slice(0, MAX_NAMED) }),
    ...(more.watched + more.uncovered > 0 && { more }),
  });
  return { tree, verdict, failed };
}

const unnamed = (files: readonly unknown[]) => Math.max(0, files.length - MAX_NAMED);

/** Runs to its end; nothing stops it. */
export async function verifyWhole(room: Room, of: TreeToVerify): Promise<Verification> {
  const verification = await verifyTree(room, of);
  if (!verification) throw new Error("the checks ended without a verdict, although nothing stopped them");
  return verification;
}

interface Due extends Verifying {
  readonly changes: readonly RawChange[];
  readonly due: readonly CheckSettings[];
  /** The paths of the files that differ from the base. */
  readonly names: readonly string[];
}

/** The names of the checks that failed; undefined when it was stopped. */
async function runChecks(
  room: Room,
  { tree, base }: TreeToVerify,
  { config, due, names, changes, isSandboxed, ahead, rooms, stop }: Due,
): Promise<string[] | undefined> {
  const own = await readSettings(room.io.homeDir);
  const settings = settingsOf(config, own);
  // The change affects what set-up installs, so set-up runs again, for this tree alone.
  const isInstalledAnew = settings.setup !== "" && names.some(isInputOf(settings.setup));
  const files: ExactFiles = {
    tree,
    base,
    settings: isInstalledAnew ? { ...settings, setup: "" } : settings,
    quota: quotaOf(config.quota, own),
    isSandboxed,
    signal: stop,
    changes,
  };
  // The room before it had the same directory.
  await rooms.ending;
  const place = await CheckRoom.make(room, { ...files, ahead });
  try {
    if (isInstalledAnew) {
      const isInstalled = await runCheck(room, place, setupStep(settings), { tree, base }, stop);
      if (isInstalled === undefined) return undefined;
      // Without set-up, the checks would prove nothing about this tree.
      if (!isInstalled) return [SETUP];
    }
    // What one command writes, the next one does not find.
    const isShared = isInstalledAnew || due.length > 1;
    if (isShared) await place.keep();
    const failed: string[] = [];
    for (const [at, check] of due.entries()) {
      if (isShared) await place.renew();
      const isLast = at === due.length - 1;
      const passed = await runCheck(room, place, check, { tree, base, isLast }, stop);
      if (passed === undefined) return undefined;
      if (!passed) failed.push(check.name);
    }
    return failed;
  } finally {
    rooms.ending = place.end();
  }
}

const setupStep = ({ setup, setupHosts }: CapsuleSettings) => ({
  name: SETUP,
  run: setup,
  hosts: [...setupHosts],
  timeout_minutes: SETUP_MINUTES,
  advice: SETUP_ADVICE,
});
