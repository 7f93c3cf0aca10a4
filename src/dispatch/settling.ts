/**
 * Owns what is decided about a task at the moment when it is asked for. What can't begin is refused here,
 * where the caller gets the error. What depends on the task's files is refused by the session process.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { commitCheckout, hasDirectory, type Repo, type Unseen, unseenIn } from "../capsule/index.ts";
import { CONFIG_FILE } from "../config/index.ts";
import { isShippedLane, parseTaskSpec, type TaskSpec } from "../contract/index.ts";
import { capsuleIo, type Home } from "../home/index.ts";
import { resolveLane } from "../lane/index.ts";
import type { SessionState } from "../session/index.ts";
import { cleanBase, directoryMissing, readConfig, startingPoint } from "../task/index.ts";
import { type Clock, present, stagingDir } from "../util/index.ts";
import type { SubmitOptions } from "./submitting.ts";
import { directoryIn } from "./where.ts";

export interface SettleRequest {
  readonly session: string;
  /** The task's repo, in the form that the session keeps. */
  readonly path: string;
  /** Opened only if git has to be asked. */
  readonly open: () => Promise<Repo>;
  /** The session's state now, or when it will be opened. */
  readonly state: SessionState;
}

export interface Settled {
  readonly spec: TaskSpec;
  /**
   * Looks which files of the checkout the task does not see. The caller does it later, because a start has no
   * time for it.
   */
  readonly unseen: () => Promise<Unseen | undefined>;
}

/** If it takes longer than this to look at the checkout, the task begins without. */
const LOOK_MS = 1000;

export async function settleSpec(
  home: Home,
  asked: TaskSpec,
  { session, path, open, state }: SettleRequest,
  { where, isDirty }: SubmitOptions,
): Promise<Settled> {
  const spec = parseTaskSpec({ ...asked, ...present({ cwd: where && directoryIn(path, where) }) });
  const { base, isFresh, snapshot, cwd } = spec;
  const nothing = async () => undefined;
  const beginsClean = base !== undefined || isFresh || !state.task?.snapshot || isDirty;
  // A task that is run again begins at the same commit.
  const goesOn = snapshot !== undefined || !beginsClean;
  const isOwnLane = spec.lane !== undefined && !isShippedLane(spec.lane);
  if (goesOn && !isOwnLane) return { spec, unseen: nothing };
  const repo = await open();
  const reading = { io: capsuleIo(home), repo };
  const assertLane = async (commit: string | null) => resolveLane(await readConfig(reading, commit), spec);
  if (goesOn) {
    const from = await startingPoint(repo, state, present({ base, isFresh, snapshot }));
    await assertLane(from.base);
    return { spec, unseen: nothing };
  }
  if (isDirty) {
    const aside = join(stagingDir(home.dir), `${process.pid}-${home.newId("dirty")}`);
    const commit = await commitCheckout(repo, { session, aside, atMs: home.io.clock.nowMs() });
    await assertLane(commit);
    if (cwd !== undefined) await assertCommitted(reading, commit, cwd);
    return {
      spec: { ...spec, ...(commit === null ? { isFresh: true } : { base: commit }) },
      unseen: nothing,
    };
  }
  const unseen = where && base === undefined ? () => unseenOf(home.io.clock, repo) : nothing;
  // If nothing can be wrong, the task does not wait for git to say so.
  const hasConfig = repo.checkout === null || existsSync(join(repo.checkout, CONFIG_FILE));
  if (base !== undefined || cwd !== undefined || hasConfig || isOwnLane) {
    const commit = await cleanBase(repo, base);
    await assertLane(commit);
    if (cwd !== undefined) await assertCommitted(reading, commit, cwd);
  }
  return { spec, unseen };
}

/** What is in the checkout, and in no commit that the task could begin with. */
function unseenOf(clock: Clock, repo: Repo): Promise<Unseen | undefined> {
  return unseenIn(repo, { clock, timeoutMs: LOOK_MS, files: [CONFIG_FILE] });
}

/** Set-up, and included files, may make directories that are in no commit. */
async function assertCommitted(
  reading: Parameters<typeof readConfig>[0],
  commit: string | null,
  cwd: string,
): Promise<void> {
  if (await hasDirectory(reading.repo, commit, cwd)) return;
  const { capsule } = await readConfig(reading, commit);
  if (capsule.setup === "" && capsule.include.length === 0) throw directoryMissing(cwd);
}
