/**
 * Owns publishing a task's work: one commit on the session's branch, on top of the previous one. Its subject
 * is the agent's own if the agent made exactly one commit, and otherwise what was asked.
 *
 * publish-4 After a kill, the branch gets the commit that was on its way, and one record of it.
 * value-3 If an agent may know a value that is no longer known here, none of its messages is used: it could
 *    not be searched.
 */
import {
  AgentGit,
  branchTip,
  type Capsule,
  commitWork,
  isAncestor,
  isCommitOf,
  listAgentCommits,
  openStore,
  publish,
  publishedBranch,
  type Repo,
  type Store,
  userIdentity,
} from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import { withoutSecrets } from "../../redaction/index.ts";
import { readEnvironment, type Session, type SessionState } from "../../session/index.ts";
import { present, printable } from "../../util/index.ts";
import type { Room } from "../room/room.ts";
import { lastIntent } from "./intent.ts";

const SUBJECT_LENGTH = 72;
const LISTED_SUBJECTS = 50;
const EARLIER = "With earlier work of the session that was not published before.";

/** A tree that becomes a commit of the session's branch, with `base` as its parent. */
export interface WorkToPublish {
  readonly tree: string;
  readonly base: string | null;
  readonly message: string;
}

export interface Published {
  readonly branch: string;
  readonly commit: string;
}

/** Why work that should be on the branch is not there. */
export interface Unpublished {
  readonly code: string;
  readonly reason: string;
}

/** The name of the session's branch, which may not exist yet. */
export const branchOf = ({ id, name, branch }: Pick<SessionState, "id" | "name" | "branch">) =>
  branch?.name ?? publishedBranch({ id, name });

/** If publishing is refused, the reason is returned and nothing ends: the work is in its snapshot. */
export async function publishOrSay(
  room: Room,
  commit: WorkToPublish,
): Promise<{ readonly branch: string | null; readonly unpublished: Unpublished | null }> {
  if (room.repo.isStandIn)
    return {
      branch: null,
      unpublished: {
        code: "no_repo",
        reason: "the work is kept in the session: it has no repo to publish to",
      },
    };
  try {
    const { branch } = await publishTree(room, commit);
    return { branch, unpublished: null };
  } catch (error) {
    if (!isHoldfastError(error, "publish_refused")) throw error;
    return { branch: null, unpublished: { code: error.code, reason: error.message } };
  }
}

/**
 * Publishes it once: after a kill, the commit that was on its way, or is on the branch already, stays the
 * same one.
 */
export async function publishTree(
  room: Room,
  { tree, base, message, isReviewed }: WorkToPublish & { readonly isReviewed?: boolean },
): Promise<Published> {
  await finishPublishing(room);
  const { session, repo, io } = room;
  const { state } = session;
  const store = await openStore(repo, io.disk);
  const branch = branchOf(state);
  const known = await madeBefore(room, store, { tree, base });
  if (known !== undefined && known === state.task?.published && (await isOnBranch(repo, branch, known)))
    return { branch, commit: known };
  const identity = await userIdentity(repo);
  const atMs = io.clock.nowMs();
  const commit = known ?? (await commitWork(store, { tree, base, message, identity, atMs }));
  // Everything that was merged belongs to the session, with the commits that a person added to it.
  const ours = [state.branch?.tip, state.branch?.intended, state.merged?.from].filter(
    (id) => typeof id === "string",
  );
  const published = { task: state.task?.number ?? 0, branch, commit, ...present({ isReviewed }) };
  const replaced = await publish({
    repo,
    store,
    disk: io.disk,
    session: session.id,
    commit,
    base,
    branch,
    ours,
    identity,
    onMove: async (replaced) =>
      void (await session.append("publishing_started", { ...published, ...present({ replaced }) })),
  });
  await session.append("work_published", { ...published, ...present({ replaced }) });
  return { branch, commit };
}

/** A commit of this tree on this base that Holdfast made for the task, or was about to put on the branch. */
async function madeBefore(
  { session, repo }: Room,
  store: Store,
  of: Pick<WorkToPublish, "tree" | "base">,
): Promise<string | undefined> {
  const { task, branch } = session.state;
  for (const id of [task?.published, branch?.intended])
    if (typeof id === "string" && (await isCommitOf(repo, store, id, of))) return id;
  return undefined;
}

/** A person may have added commits since. */
async function isOnBranch(repo: Repo, branch: string, commit: string): Promise<boolean> {
  const tip = await branchTip(repo, branch);
  return tip !== undefined && (tip === commit || (await isAncestor(repo, commit, tip)));
}

/** Completes a publication that was cut off before its record: the branch shows that it was done. */
export async function finishPublishing(room: Room): Promise<void> {
  const { session, repo } = room;
  const { task, branch } = session.state;
  if (!task || !branch?.intended) return;
  const { name, intended: commit } = branch;
  if (!(await isOnBranch(repo, name, commit))) return;
  const intent = await lastIntent(room, "publishing_started");
  await session.append("work_published", { ...intent, task: task.number, branch: name, commit });
}

/** The message of the commit of a task's work. It uses the capsule's own git as far as that can be read. */
export async function messageOf(
  { session, sessionDir }: Pick<Room, "session" | "sessionDir">,
  capsule: Capsule,
): Promise<string> {
  const { id, state } = session;
  const { task } = state;
  const subjects = knowsValues(state, sessionDir) ? await subjectsOf(capsule, session) : [];
  const [only] = subjects;
  const subject = (subjects.length === 1 && only) || askedOf(state) || `Task ${task?.number} of ${id}`;
  const listed = subjects.length > 1 ? subjects.slice(0, LISTED_SUBJECTS).map((one) => `- ${one}`) : [];
  const more = subjects.length - listed.length;
  const parts = [
    shortened(subject),
    [...listed, ...(listed.length > 0 && more > 0 ? [`- and ${more} more`] : [])].join("\n"),
    task?.hasUnpublished ? EARLIER : "",
    `Session: ${id}\nTask: ${task?.number}${task?.lane ? `\nLane: ${task.lane.name}` : ""}${task?.isSandboxed === false ? "\nSandbox: none" : ""}`,
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

/** For changes that a person made to the files. */
export function messageOfPerson(
  { id }: { readonly id: string },
  person: string,
  hasUnpublished: boolean,
): string {
  const earlier = hasUnpublished ? `${EARLIER}\n\n` : "";
  return `${shortened(oneLine(`Changes by ${person}`))}\n\n${earlier}Session: ${id}\n`;
}

/** For everything on a session's branch, as one commit. */
export function messageOfAll(state: SessionState, subjects: readonly string[]): string {
  const listed = subjects.slice(0, LISTED_SUBJECTS).map((one) => `- ${oneLine(one)}`);
  const more = subjects.length - listed.length;
  const body = [...listed, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n");
  const subject = shortened(oneLine(state.title ?? "") || `Work of ${state.id}`);
  return `${subject}\n\n${body}\n\nSession: ${state.id}\n`;
}

/** For work that an agent did not commit itself, after the commits that it made. */
export function messageOfRest({ id, title }: SessionState): string {
  const asked = oneLine(title ?? "");
  return `Work that the agent did not commit\n\n${asked && `Asked: ${shortened(asked)}\n\n`}Session: ${id}\n`;
}

/**
 * Whether every value that a task of the session was ever given is still known, so that it can be searched
 * for.
 */
function knowsValues({ hadValues, task }: SessionState, sessionDir: string): boolean {
  if (!hadValues) return true;
  if (!task?.request || task.hadValuesBefore) return false;
  return readEnvironment(sessionDir, task.request) !== undefined;
}

/** The agent wrote these subjects: control characters and secrets are removed. */
async function subjectsOf(
  capsule: Capsule,
  { state: { task }, redact }: Pick<Session, "state" | "redact">,
): Promise<string[]> {
  const { root } = await capsule.attach();
  const head = new AgentGit(root).head.commit;
  const beyond = [task?.base, task?.headBefore].filter((id) => typeof id === "string");
  if (head === undefined || beyond.includes(head)) return [];
  const commits = await listAgentCommits(capsule, head, beyond);
  const subjects = commits.map(({ subject }) => subject.replaceAll("\n", " "));
  if (subjects.length === 0) return [];
  // Redacted before any other change, because a value is found by its bytes.
  const text = await withoutSecrets(redact, subjects.join("\n"));
  return text.split("\n").map(oneLine).filter(Boolean);
}

/** From the journal, so without secrets. */
function askedOf({ task, title }: SessionState): string {
  return oneLine(task?.asked ?? title ?? "");
}

const oneLine = (text: string) => printable(text.replace(/\s+/g, " ").trim());

function shortened(text: string): string {
  return text.length <= SUBJECT_LENGTH ? text : `${text.slice(0, SUBJECT_LENGTH - 1).trimEnd()}…`;
}
