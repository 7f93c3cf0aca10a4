/**
 * Owns the temporary capsule of exactly one tree: for a session's checks, for files of a tree that no task
 * has worked in, or for an action. It lies beside the capsule of the session's task. What a kill leaves of it
 * is removed when the task goes on, by the next one, or by gc.
 */
import {
  type Capsule,
  CapsuleDir,
  type CapsuleSettings,
  clearUnfinished,
  commitText,
  createExactCapsule,
  openStore,
  type RawChange,
  userIdentity,
} from "../../capsule/index.ts";
import { usualTools } from "../../contract/index.ts";
import type { Lane } from "../../lane/index.ts";
import type { Sandbox } from "../../process/index.ts";
import { actingDir, verifyDir } from "../../util/index.ts";
import { Ahead } from "../room/ahead.ts";
import type { Quota } from "../room/quota.ts";
import type { Room } from "../room/room.ts";
import { knownSandboxOf } from "../room/sandbox.ts";
import { setupFor } from "../room/setup.ts";

export interface ExactFiles {
  readonly tree: string;
  /** The commit that the tree is compared with, and whose installation it uses. */
  readonly base: string | null;
  readonly settings: CapsuleSettings;
  readonly quota: Quota;
  readonly isSandboxed: boolean;
  readonly signal: AbortSignal;
  /** For an action, which runs while the task goes on. Default: for checks. */
  readonly isForAction?: boolean;
  /** How the tree differs from the base, where the caller knows it. */
  readonly changes?: readonly RawChange[] | undefined;
  /** What `aheadOfChecks` began. */
  readonly ahead?: Ahead | undefined;
}

export interface MadeFiles {
  readonly capsule: Capsule;
  /** The sandbox of the processes in it; undefined: they have none. */
  readonly sandbox: Sandbox | undefined;
}

/** The branch that its git has checked out. */
const BRANCH = "checked";

/** What a check may do, apart from the hosts that it names. */
export const checkLane: Lane = {
  name: BRANCH,
  isReadOnly: false,
  isWithoutCommands: false,
  hosts: [],
  tools: usualTools,
};

/** Begins the holder of the capsule for checks before it is known what these have to check. */
export async function aheadOfChecks(room: Room): Promise<Ahead | undefined> {
  await clearExactFiles(room);
  return Ahead.begin(room.io.homeDir, checkedDir(room));
}

/** If anything fails, nothing of it is left. */
export async function makeExactFiles(room: Room, files: ExactFiles): Promise<MadeFiles> {
  const { session, sessionDir, repo, io } = room;
  const { base, tree, settings, quota, isSandboxed, signal, isForAction = false, changes } = files;
  const task = session.state.task?.number ?? 0;
  const dir = (isForAction ? actingDir : verifyDir)(sessionDir, task);
  if (!files.ahead) await clearUnfinished(new CapsuleDir(dir));
  // The holder and the network take as long as the files do, so they are begun together.
  const ahead = files.ahead ?? (isSandboxed ? Ahead.begin(io.homeDir, dir) : undefined);
  try {
    // Ports that lead in are leased with the files, so the network waits for them. An action has a network of
    // its own.
    const isOpened = settings.ports.length === 0 && !isForAction;
    const opening = isOpened ? ahead?.openNetwork(checkLane) : undefined;
    const sandbox = isSandboxed ? await knownSandboxOf(room, { quota, lane: checkLane }) : undefined;
    const setup = { sandbox, hosts: settings.setupHosts, quota, onOutput: () => {}, signal };
    const store = await openStore(repo, io.disk);
    const identity = await userIdentity(repo);
    const message = `Work of ${session.id}, as it is ${isForAction ? "acted on" : "checked"}
`;
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
      isBeside: isForAction,
    };
    // The commit is as in a checkout of the published branch.
    const commit = commitText({ tree, base, message, identity, atMs: 0 });
    const { capsule } = await createExactCapsule(io, request, { store, tree, commit, changes });
    await opening;
    return { capsule, sandbox };
  } catch (error) {
    await ahead?.end();
    await clearUnfinished(new CapsuleDir(dir));
    throw error;
  }
}

/** Removes what a killed process left of the capsule for checks. */
export function clearExactFiles(room: Room): Promise<void> {
  return clearUnfinished(new CapsuleDir(checkedDir(room)));
}

function checkedDir({ session, sessionDir }: Room): string {
  return verifyDir(sessionDir, session.state.task?.number ?? 0);
}

export async function removeExactFiles({ trashDir, session, io }: Room, capsule: Capsule): Promise<void> {
  await capsule.remove(trashDir, `${session.id}-checked-${io.clock.nowMs()}`);
}
