/**
 * Owns the verifying of a tree: the checks that the repo's file names at the base, in order, each on exactly this tree.
 *
 * verify-3 What is checked is what would be published: the tree is named first, and everything that runs stands on it.
 * verify-4 Without a check that ran there is no pass: the verdict is `unverified`.
 */
import {
  type CapsuleSettings,
  changedPaths,
  isManifest,
  openStore,
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
import type { ExactFiles } from "./exact-files.ts";
import { dueChecks, uncoveredBy, watchedIn } from "./watching.ts";

export interface TreeToVerify {
  readonly tree: string;
  /** The commit that the tree is measured against: its file names the checks. */
  readonly base: string | null;
  /** The branch that the tree is to become, of a merge. */
  readonly into?: string;
}

export interface Verification {
  readonly tree: string;
  readonly verdict: Verdict;
  /** The names of the checks that failed. */
  readonly failed: readonly string[];
}

const MAX_NAMED = 100;
/** As a check, where a task changed what set-up installs. */
const SETUP = "capsule.setup";
const SETUP_MINUTES = 60;

/** Undefined: it was stopped from outside, and nothing is said of the tree. */
export async function verifyTree(
  room: Room,
  of: TreeToVerify,
  stop: AbortSignal = new AbortController().signal,
): Promise<Verification | undefined> {
  const { session, repo, io } = room;
  const { tree, base, into } = of;
  const config = await readConfig(room, base);
  const store = await openStore(repo, io.disk);
  const changed = await changedPaths(repo, store, await treeOf(repo, base), tree);
  const names = changed.map(toText);
  const { due, skipped } = dueChecks(config.checks, names);
  const failed = due.length === 0 ? [] : await runChecks(room, of, { config, due, names }, stop);
  if (!failed) return undefined;
  const verdict = due.length === 0 ? "unverified" : failed.length === 0 ? "passed" : "failed";
  const watched = watchedIn(names).slice(0, MAX_NAMED);
  const uncovered = due.length === 0 ? [] : uncoveredBy(config.checks, names).slice(0, MAX_NAMED);
  await session.append("verification_ended", {
    task: session.state.task?.number ?? 0,
    tree,
    verdict,
    ...present({ into }),
    ...(skipped.length > 0 && { skipped: skipped.map(({ name }) => name) }),
    ...(watched.length > 0 && { watched: watched.map(({ path, why }) => ({ path, why })) }),
    ...(uncovered.length > 0 && { uncovered }),
  });
  return { tree, verdict, failed };
}

/** To its end: nothing stops it. */
export async function verifyWhole(room: Room, of: TreeToVerify): Promise<Verification> {
  const verification = await verifyTree(room, of);
  if (!verification) throw new Error("checks that nothing stops came to no end");
  return verification;
}

interface Due {
  readonly config: AcceptedConfig;
  readonly due: readonly CheckSettings[];
  /** Of the files that differ from the base. */
  readonly names: readonly string[];
}

/** Those that failed; undefined where it was stopped. */
async function runChecks(
  room: Room,
  { tree, base }: TreeToVerify,
  { config, due, names }: Due,
  stop: AbortSignal,
): Promise<string[] | undefined> {
  const own = await readSettings(room.io.homeDir);
  const settings = settingsOf(config, own);
  // What it installs is not what the base has: it is installed anew, for this tree alone.
  const isInstalledAnew = settings.setup !== "" && names.some(isManifest);
  const files: ExactFiles = {
    tree,
    base,
    settings: isInstalledAnew ? { ...settings, setup: "" } : settings,
    quota: quotaOf(config.quota, own),
    isSandboxed: room.session.state.task?.isSandboxed ?? true,
    signal: stop,
  };
  const install = isInstalledAnew ? setupStep(settings) : undefined;
  const failed: string[] = [];
  let left = [...due];
  while (left.length > 0) {
    // One after the other in the same room, until one of them has changed the files.
    await using place = await CheckRoom.make(room, files);
    let before = tree;
    if (install) {
      const installed = await runCheck(room, place, install, { tree, base, before: undefined }, stop);
      if (!installed) return undefined;
      // Without it, the checks would say nothing of this tree.
      if (!installed.passed) return [SETUP];
      before = await place.treeNow();
    }
    let isAsBefore = true;
    while (isAsBefore && left.length > 0) {
      const [check, ...rest] = left as [CheckSettings, ...CheckSettings[]];
      const checked = await runCheck(room, place, check, { tree, base, before }, stop);
      if (!checked) return undefined;
      if (!checked.passed) failed.push(check.name);
      ({ isAsBefore } = checked);
      left = rest;
    }
  }
  return failed;
}

const setupStep = ({ setup, setupHosts }: CapsuleSettings) => ({
  name: SETUP,
  run: setup,
  hosts: [...setupHosts],
  timeout_minutes: SETUP_MINUTES,
});
