/**
 * Owns what becomes of a task's work: one commit on the session's branch, on the last one. Its subject is the agent's
 * own where the agent made exactly one commit, else what was asked.
 *
 * R6 Of an agent that may know a value which is not known here any more, no message is taken: it could not be searched.
 */
import {
  AgentGit,
  branchTip,
  type Capsule,
  commitWork,
  isAncestor,
  listAgentCommits,
  openStore,
  publish,
  publishedBranch,
  userIdentity,
} from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import { withoutSecrets } from "../../redaction/index.ts";
import { readEnvironment, type Session, type SessionState } from "../../session/index.ts";
import { present, printable } from "../../util/index.ts";
import type { Room } from "../room/room.ts";

const SUBJECT_LENGTH = 72;
const LISTED_SUBJECTS = 50;
const EARLIER = "With work of the session that was not published before.";

/** A tree that becomes a commit of the session's branch, standing on `base`. */
export interface NewCommit {
  readonly tree: string;
  readonly base: string | null;
  readonly message: string;
}

export interface Published {
  readonly branch: string;
  readonly commit: string;
}

/** Why work that should be on the branch is not. */
export interface Unpublished {
  readonly code: string;
  readonly reason: string;
}

/** The session's branch: the one that it has, or will have. */
export const branchOf = ({ id, name, branch }: Pick<SessionState, "id" | "name" | "branch">) =>
  branch?.name ?? publishedBranch({ id, name });

/** What keeps work from its branch is said, and ends nothing: the work is in its snapshot. */
export async function publishOrSay(
  room: Room,
  commit: NewCommit,
): Promise<{ readonly branch: string | null; readonly unpublished: Unpublished | null }> {
  if (room.repo.isStandIn)
    return {
      branch: null,
      unpublished: { code: "no_repo", reason: "kept in the session: no repo to publish to" },
    };
  try {
    const { branch } = await publishTree(room, commit);
    return { branch, unpublished: null };
  } catch (error) {
    if (!isHoldfastError(error, "publish_refused")) throw error;
    return { branch: null, unpublished: { code: error.code, reason: error.message } };
  }
}

export async function publishTree(
  { session, repo, io }: Room,
  { tree, base, message }: NewCommit,
): Promise<Published> {
  const { state } = session;
  const store = await openStore(repo, io.disk);
  const identity = await userIdentity(repo);
  const atMs = io.clock.nowMs();
  const commit = await commitWork(store, { tree, base, message, identity, atMs });
  const branch = branchOf(state);
  // What was merged was the session's to merge, a person's commits on it included.
  const ours = [state.branch?.tip, state.branch?.intended, state.merged?.from].filter(
    (id) => typeof id === "string",
  );
  const task = state.task?.number ?? 0;
  const onMove = async () => {
    await session.append("publishing_started", { task, branch, commit });
  };
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
    onMove,
  });
  await session.append("work_published", { task, branch, commit, ...present({ replaced }) });
  return { branch, commit };
}

/** A publication whose record was cut off: the branch tells that it was done. */
export async function finishPublishing({ session, repo }: Room): Promise<void> {
  const { task, branch } = session.state;
  if (!task || !branch?.intended) return;
  const { name, intended: commit } = branch;
  const tip = await branchTip(repo, name);
  // A person may have gone on from there.
  if (tip === undefined || (tip !== commit && !(await isAncestor(repo, commit, tip)))) return;
  await session.append("work_published", { task: task.number, branch: name, commit });
}

/** What a commit of the task's work says. With the capsule's own git, as far as it can be asked. */
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

/** Of what a person did with the files. */
export function messageOfPerson(
  { id }: { readonly id: string },
  person: string,
  hasUnpublished: boolean,
): string {
  const earlier = hasUnpublished ? `${EARLIER}\n\n` : "";
  return `${shortened(oneLine(`Changes by ${person}`))}\n\n${earlier}Session: ${id}\n`;
}

/** Of all that a session's branch has, as one commit. */
export function messageOfAll(state: SessionState, subjects: readonly string[]): string {
  const listed = subjects.slice(0, LISTED_SUBJECTS).map((one) => `- ${oneLine(one)}`);
  const more = subjects.length - listed.length;
  const body = [...listed, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n");
  const subject = shortened(oneLine(state.title ?? "") || `Work of ${state.id}`);
  return `${subject}\n\n${body}\n\nSession: ${state.id}\n`;
}

/** Whether every value that a task of the session was ever given is still there to be looked for. */
function knowsValues({ hadValues, task }: SessionState, sessionDir: string): boolean {
  if (!hadValues) return true;
  if (!task?.request || task.hadValuesBefore) return false;
  return readEnvironment(sessionDir, task.request) !== undefined;
}

/** The agent wrote them: what is no text, and what is secret, is not passed on. */
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
  // Before anything else of them is changed: a value is found by its bytes.
  const text = await withoutSecrets(redact, subjects.join("\n"));
  return text.split("\n").map(oneLine).filter(Boolean);
}

/** In the journal, so without secrets. */
function askedOf({ task, title }: SessionState): string {
  return oneLine(task?.asked ?? title ?? "");
}

const oneLine = (text: string) => printable(text.replace(/\s+/g, " ").trim());

function shortened(text: string): string {
  return text.length <= SUBJECT_LENGTH ? text : `${text.slice(0, SUBJECT_LENGTH - 1).trimEnd()}…`;
}
