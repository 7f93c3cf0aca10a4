/**
 * Owns the capsule of exactly a tree that a session has for a moment: for its checks, or to make files of a tree that no
 * task has worked in. It lies beside the capsule of the session's task, and what a kill leaves of it is cleared away by
 * the next one, or by gc.
 */
import {
  type Capsule,
  CapsuleDir,
  type CapsuleSettings,
  clearUnfinished,
  commitWork,
  createExactCapsule,
  openStore,
  userIdentity,
} from "../../capsule/index.ts";
import type { LaneInForce } from "../../lane/index.ts";
import type { Sandbox } from "../../process/index.ts";
import { verifyDir } from "../../util/index.ts";
import { Ahead } from "../room/ahead.ts";
import type { Quota } from "../room/quota.ts";
import type { Room } from "../room/room.ts";
import { sandboxOf } from "../room/sandbox.ts";
import { setupFor } from "../room/setup.ts";

export interface ExactFiles {
  readonly tree: string;
  /** The commit that the tree is measured against, whose installation it stands on. */
  readonly base: string | null;
  readonly settings: CapsuleSettings;
  readonly quota: Quota;
  readonly isSandboxed: boolean;
  readonly signal: AbortSignal;
}

export interface MadeFiles {
  readonly capsule: Capsule;
  /** That processes run in there; undefined: they have none. */
  readonly sandbox: Sandbox | undefined;
}

/** The branch that its git is on. */
const BRANCH = "checked";

/** What a check may do, but for the hosts that it names. */
export const checkLane: LaneInForce = {
  name: BRANCH,
  isReadOnly: false,
  isWithoutCommands: false,
  hosts: [],
};

/** Whatever fails, nothing of it is left. */
export async function makeExactFiles(room: Room, files: ExactFiles): Promise<MadeFiles> {
  const { session, sessionDir, repo, io } = room;
  const { base, tree, settings, quota, isSandboxed, signal } = files;
  const task = session.state.task?.number ?? 0;
  const dir = verifyDir(sessionDir, task);
  // What a process left that was killed.
  await clearUnfinished(new CapsuleDir(dir));
  // The holder and the network take as long as the files do.
  const ahead = isSandboxed ? Ahead.begin(io.homeDir, dir) : undefined;
  try {
    if (settings.ports.length === 0) await ahead?.openNetwork(checkLane);
    const sandbox = isSandboxed ? await sandboxOf(room, { quota, lane: checkLane }) : undefined;
    const setup = { sandbox, hosts: settings.setupHosts, quota, onOutput: () => {}, signal };
    const store = await openStore(repo, io.disk);
    const identity = await userIdentity(repo);
    const message = `Work of ${session.id}, as it is checked\n`;
    // As whoever checks the published branch out would have it.
    const commit = await commitWork(store, { tree, base, message, identity, atMs: 0 });
    const request = {
      dir,
      session: session.id,
      branch: BRANCH,
      task,
      repo,
      base,
      settings,
      sandbox,
      coming: ahead?.holder,
      runSetup: setupFor(room, setup),
      signal,
    };
    const { capsule } = await createExactCapsule(io, request, { store, commit });
    return { capsule, sandbox };
  } catch (error) {
    await ahead?.end();
    await clearUnfinished(new CapsuleDir(dir));
    throw error;
  }
}

export async function removeExactFiles({ trashDir, session, io }: Room, capsule: Capsule): Promise<void> {
  await capsule.remove(trashDir, `${session.id}-checked-${io.clock.nowMs()}`);
}
