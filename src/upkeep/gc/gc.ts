/**
 * Owns collection: what may be cleared, and why. It first makes a plan; `--dry-run` stops there.
 */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { removeTree, renewHolds, sweepTrash } from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import {
  abandonedStages,
  type Home,
  inspectAll,
  layBallast,
  sessionLeftovers,
  unbornSessions,
} from "../../home/index.ts";
import { diskUse } from "../../process/index.ts";
import { errorCode, type Leftover, saying, tellStep, trashDir } from "../../util/index.ts";
import { capsuleOwners, findLeftovers } from "./leftovers.ts";
import { planRetention, type Retention, readRetention } from "./retention.ts";
import type { GcStep, Planned } from "./step.ts";

export interface GcOptions {
  /** Only report what would be done. */
  readonly dryRun?: boolean;
  /** The user's settings decide what is left out here. */
  readonly retention?: Partial<Retention>;
}

const DOING: Readonly<Record<GcStep["action"], string>> = {
  archive: "archiving",
  compress: "compressing",
  delete: "deleting",
  clear: "clearing",
  repack: "repacking",
};

export interface GcResult {
  /** The sum of all steps, as far as it is known. */
  readonly freedBytes: number;
  readonly done: readonly GcStep[];
  /** Steps that were not done, with the reason, for example a session that was opened meanwhile. */
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
  tellStep(home.onProgress, "looking for what may be cleared");
  const steps = await plan(home, retention);
  // Measure all steps first: the sweep after one step may remove what a later step is about.
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
      // A session that can't be tidied must not keep the others from being tidied.
      if (!isHoldfastError(error) && errorCode(error) === undefined) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      left.push({ ...step, freedBytes: 0, reason });
    }
  }
  if (!dryRun) {
    // Removes what the steps put into the trash.
    await sweepTrash(trashDir(home.dir));
    await layBallast(home.dir);
  }
  const freedBytes = done.reduce((sum, step) => sum + (step.freedBytes ?? 0), 0);
  return { freedBytes, done, left };
}

/** What these actions work on gets smaller, but does not go. */
const SHRINKING: ReadonlySet<GcStep["action"]> = new Set(["archive", "compress", "repack"]);

async function plan(home: Home, retention: Retention): Promise<Planned[]> {
  const inspected = await inspectAll(home);
  const steps: Planned[] = [];
  for (const { state, damage } of inspected) {
    if (damage) continue;
    steps.push(...(await sessionLeftovers(home, state)).map(clearing));
    steps.push(...(await planRetention(home, state, retention)));
  }
  const born = new Set(inspected.map(({ state }) => state.id));
  steps.push(...(await unbornSessions(home, born)).map(clearing));
  for (const path of await abandonedStages(home))
    steps.push(removing(path, "left by a process that ended before it was whole"));
  steps.push(...(await findLeftovers(home)).map(clearing));
  for (const name of await readdir(trashDir(home.dir)))
    steps.push(removing(join(trashDir(home.dir), name), "deleted before"));
  return steps;
}

function clearing({ what, why, paths = [], isRepacked, clear }: Leftover): Planned {
  return { action: isRepacked ? "repack" : "clear", what, why, paths, run: clear };
}

function removing(path: string, why: string): Planned {
  return { action: "clear", what: path, why, paths: [path], run: () => removeTree(path) };
}
