/**
 * Owns what is settled of a task at the moment when it is asked for. What can't begin is refused here, where the one
 * who asks reads it; what only the task's files can tell is refused by the session process.
 */
import { hasDirectory, type Repo, resolveCommit, type Unseen, unseenIn } from "../capsule/index.ts";
import { CONFIG_FILE } from "../config/index.ts";
import { parseTaskSpec, type TaskSpec } from "../contract/index.ts";
import { directoryMissing, readConfig } from "../task/index.ts";
import { present } from "../util/index.ts";
import { directoryIn, type Where } from "./where.ts";

export interface SettleRequest {
  /** As the session knows it. */
  readonly path: string;
  /** Opened only where git has something to say. */
  readonly open: () => Promise<Repo>;
  /** The session has no files that it would begin with. */
  readonly isFirst: boolean;
  readonly where: Where | undefined;
}

export interface Settled {
  readonly spec: TaskSpec;
  /** What the task does not see of the checkout that it begins with: a look that goes on meanwhile. */
  readonly unseen: Promise<Unseen | undefined>;
}

/** A checkout that takes longer than this to look at is begun with unseen. */
const LOOK_MS = 300;

export async function settleSpec(
  asked: TaskSpec,
  { path, open, isFirst, where }: SettleRequest,
): Promise<Settled> {
  const spec = parseTaskSpec({ ...asked, ...present({ cwd: where && directoryIn(path, where) }) });
  const { base, isFresh, snapshot, cwd } = spec;
  const beginsClean = base !== undefined || isFresh || isFirst;
  // One that is run again begins where it began.
  if (snapshot !== undefined || !beginsClean) return { spec, unseen: Promise.resolve(undefined) };
  const repo = await open();
  const looking = { timeoutMs: LOOK_MS, files: [CONFIG_FILE] };
  const unseen = where && base === undefined ? unseenIn(repo, looking) : Promise.resolve(undefined);
  if (base !== undefined || cwd !== undefined) {
    const commit = await resolveCommit(repo, base);
    if (cwd !== undefined) await assertCommitted(repo, commit, cwd);
  }
  return { spec, unseen };
}

/** Set-up, and what is included, may make directories that are in no commit. */
async function assertCommitted(repo: Repo, commit: string | null, cwd: string): Promise<void> {
  if (await hasDirectory(repo, commit, cwd)) return;
  const { capsule } = await readConfig(repo, commit);
  if (capsule.setup === "" && capsule.include.length === 0) throw directoryMissing(cwd);
}
