/**
 * Owns the permanent removal of a session at a person's request: what would be removed, and whether it may
 * be.
 *
 * removal-1 Without `force`, nothing is removed that exists in no other place, that a person has or keeps, or
 *    that is damaged. A refusal comes before anything has changed.
 *
 * If branches are to be deleted, they go first: a crash then leaves the session whole, with its work in its
 * snapshots.
 */
import { deleteBranch, type FoundBranch, findBranch, type OwnBranch } from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { type FoundSession, type Home, inspectIn, listSessions, repoOf } from "../../home/index.ts";
import { damaged, readDurable } from "../../journal/index.ts";
import { idOf, Maildir } from "../../mail/index.ts";
import { diskUse } from "../../process/index.ts";
import type { Inspected, SessionState } from "../../session/index.ts";
import { inboxDir } from "../../util/index.ts";
import { discardSession } from "./discard.ts";
import { unpublishedWork } from "./unpublished.ts";

export interface RemovalOptions {
  /** Also remove what exists in no other place, what is kept or handed off, and what is damaged. */
  readonly force?: boolean;
  /** Also delete its branches, unless a person has added to them or has them checked out. */
  readonly branches?: boolean;
}

/** What goes with a session. */
export interface Removal {
  readonly session: string;
  readonly title: string | null;
  readonly turns: number;
  readonly tasks: number;
  /** How many bytes of the disk its directory uses. */
  readonly bytes: number;
  /** Work that exists in no other place. */
  readonly unpublished: readonly string[];
  readonly unread: number;
  /** Tasks that have not begun. */
  readonly queued: number;
  /** Sessions that were forked from it. They stay whole. */
  readonly forks: number;
  /** Its branches in the user's repo, each with the reason why it stays, if it does. */
  readonly branches: readonly { readonly name: string; readonly stays: string | null }[];
}

/** What would be removed. Fails if it may not be. */
export async function planRemoval(
  home: Home,
  found: FoundSession,
  options: RemovalOptions = {},
): Promise<Removal> {
  const { removal, inspected } = await look(home, found, options);
  if (!options.force) assertMayGo(removal, inspected);
  return removal;
}

/** Fails with `session_owned` while a process has it. */
export async function removeSession(
  home: Home,
  found: FoundSession,
  options: RemovalOptions = {},
): Promise<Removal> {
  let gone: Removal | undefined;
  const bytes = await discardSession(home, found, async () => {
    const { removal, inspected, going } = await look(home, found, options);
    if (!options.force) assertMayGo(removal, inspected);
    for (const branch of going) await deleteBranch(await repoOf(home, inspected.state), branch);
    gone = removal;
  });
  if (!gone) throw new Error("a session was removed without having been checked");
  return { ...gone, bytes };
}

function assertMayGo(
  { session, unpublished }: Removal,
  { state, damage }: Pick<Inspected, "state" | "damage">,
): void {
  if (damage) throw damaged(damage);
  if (state.isKept)
    throw new HoldfastError(
      "session_kept",
      `session ${session} is kept: a person marked it with holdfast keep`,
      { session },
    );
  if (state.handoff)
    throw new HoldfastError("handoff_open", `${state.handoff.to} has the files of session ${session}`, {
      directory: state.handoff.directory,
    });
  if (unpublished.length > 0)
    throw new HoldfastError(
      "unpublished_work",
      `session ${session} has work that exists in no other place: ${unpublished.join("; ")}`,
      { session, unpublished },
    );
}

interface Look {
  readonly removal: Removal;
  readonly inspected: Inspected;
  /** Branches that can be deleted and are to be deleted. */
  readonly going: readonly FoundBranch[];
}

async function look(home: Home, found: FoundSession, options: RemovalOptions): Promise<Look> {
  const { id, dir } = found;
  const inspected = await inspectIn(home, id);
  const { state } = inspected;
  const branches = await branchesOf(home, dir, state);
  const going = options.branches ? branches.filter(({ stays }) => stays === null) : [];
  const mail = (await new Maildir(home.io.disk, inboxDir(dir)).waiting()).map(idOf);
  const requests = new Set(state.queue.map(({ request }) => request));
  for (const name of mail.filter((one) => one.startsWith("task_"))) requests.add(name);
  const removal: Removal = {
    session: id,
    title: state.title,
    turns: state.turns,
    tasks: state.task?.number ?? 0,
    bytes: (await diskUse([dir])).bytes,
    unpublished: await unpublishedWork(home, found, state, going),
    unread: state.unread.length + mail.filter((one) => one.startsWith("msg_")).length,
    queued: requests.size,
    forks: (await listSessions(home, { user: null })).filter(({ parent }) => parent?.id === id).length,
    branches: branches.map(({ name, stays }) => ({
      name,
      stays: options.branches ? stays : "it was not asked for",
    })),
  };
  return { removal, inspected, going };
}

/** Its branch, and the branch of its agent's own commits, as far as they exist. */
async function branchesOf(home: Home, dir: string, state: SessionState): Promise<FoundBranch[]> {
  const own: OwnBranch[] = [];
  const { branch } = state;
  if (branch)
    own.push({
      name: branch.name,
      ours: [branch.tip, branch.intended].filter((commit) => commit !== null),
    });
  const commits = await commitsBranch(dir);
  if (commits) own.push(commits);
  if (own.length === 0) return [];
  try {
    const repo = await repoOf(home, state);
    const found = await Promise.all(own.map((one) => findBranch(repo, one)));
    return found.filter((one) => one !== undefined);
  } catch (error) {
    // The repo does not exist any more, and neither do its branches.
    if (!isHoldfastError(error)) throw error;
    return [];
  }
}

async function commitsBranch(dir: string): Promise<OwnBranch | undefined> {
  let found: OwnBranch | undefined;
  try {
    for await (const { record } of readDurable(dir)) {
      const { type, data } = record;
      // The branches of the parent belong to the parent.
      if (type === "session_forked") found = undefined;
      if (type === "commits_published")
        found = { name: String(data["branch"]), ours: [String(data["commit"])] };
    }
  } catch (error) {
    // Of a damaged journal, use as much as can be read.
    if (!isHoldfastError(error)) throw error;
  }
  return found;
}
