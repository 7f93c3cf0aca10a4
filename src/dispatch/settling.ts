/**
 * Owns what is settled of a task at the moment when it is asked for. What can't begin is refused here, where the one
 * who asks reads it; what only the task's files can tell is refused by the session process.
 */
import { hasDirectory, type Repo, resolveCommit } from "../capsule/index.ts";
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

export async function settleSpec(
  asked: TaskSpec,
  { path, open, isFirst, where }: SettleRequest,
): Promise<TaskSpec> {
  const spec = parseTaskSpec({ ...asked, ...present({ cwd: where && directoryIn(path, where) }) });
  const { base, isFresh, snapshot, cwd } = spec;
  const beginsClean = base !== undefined || isFresh || isFirst;
  const isToBeAsked = base !== undefined || (beginsClean && cwd !== undefined);
  // One that is run again begins where it began.
  if (snapshot !== undefined || !isToBeAsked) return spec;
  const repo = await open();
  const commit = await resolveCommit(repo, base);
  if (cwd !== undefined) await assertCommitted(repo, commit, cwd);
  return spec;
}

/** Set-up, and what is included, may make directories that are in no commit. */
async function assertCommitted(repo: Repo, commit: string | null, cwd: string): Promise<void> {
  if (await hasDirectory(repo, commit, cwd)) return;
  const { capsule } = await readConfig(repo, commit);
  if (capsule.setup === "" && capsule.include.length === 0) throw directoryMissing(cwd);
}
