/**
 * Owns the work of a task as it is at this moment, for those who do not own its session: from its capsule while its
 * command runs. Nothing is recorded, and the command is not disturbed.
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

/** Files come and go while they are read; what never stands still must not keep us forever. */
const ATTEMPTS = 5;

export interface Looked {
  readonly io: CapsuleIo;
  readonly repo: Repo;
  readonly sessionDir: string;
}

/** Undefined where the task has no capsule. */
export async function workNow(
  { io, repo, sessionDir }: Looked,
  { id, task }: Pick<SessionState, "id" | "task">,
): Promise<Work | undefined> {
  const capsule = task && (await Capsule.openToLook(io, repo, capsuleDir(sessionDir, task.number)));
  if (!capsule) return undefined;
  // A commit of the work would hold none of what is ignored.
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
