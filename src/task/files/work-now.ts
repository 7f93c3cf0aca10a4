/**
 * Owns reading the work of a task at this moment, from its capsule, for callers that do not own the session.
 * Nothing is recorded, and the running command is not disturbed.
 */
import {
  Capsule,
  type CapsuleIo,
  makeWork,
  type Repo,
  userIdentity,
  type Work,
} from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import type { SessionState } from "../../session/index.ts";
import { capsuleDir } from "../../util/index.ts";
import { currentLimits } from "../room/room.ts";

/**
 * Files may come and go while they are read. A capsule that never stops changing must not block the caller
 * forever.
 */
const ATTEMPTS = 5;

export interface Looked {
  readonly io: CapsuleIo;
  readonly repo: Repo;
  readonly sessionDir: string;
}

/** Undefined when the task has no capsule. */
export async function workNow(
  { io, repo, sessionDir }: Looked,
  { id, task }: Pick<SessionState, "id" | "task">,
): Promise<Work | undefined> {
  const capsule = task && (await Capsule.openToLook(io, repo, capsuleDir(sessionDir, task.number)));
  if (!capsule) return undefined;
  // A commit of the work would contain no ignored file.
  const limits = { ...(await currentLimits({ io, repo })), maxIgnoredBytes: 0 };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { manifest, contents, converted } = await capsule.look(limits);
      return await makeWork({
        repo,
        store: await capsule.store(),
        manifest,
        contents,
        converted,
        identity: await userIdentity(repo),
        message: `Work of ${id}\n`,
        atMs: io.clock.nowMs(),
      });
    } catch (error) {
      if (!isHoldfastError(error, "snapshot_raced") || attempt >= ATTEMPTS) throw error;
    }
  }
}
