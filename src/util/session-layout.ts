/**
 * Owns the names of the entries in a session's directory, `sessions/<session>/`, as docs/format.md lists
 * them: no other file spells one out. It does no I/O. The file that owns an entry knows its content and what
 * is below it.
 */
import { join } from "node:path";

/** Stands for a session's directory: the path below it, as findings and export files name it. */
export const IN_SESSION = "";

/** session/manifest.ts: the identity of the session. */
export const manifestPath = (sessionDir: string) => join(sessionDir, "session.json");
/** journal/witness.ts: a durable position outside the segments. */
export const witnessPath = (sessionDir: string) => join(sessionDir, "head.json");
/** session/fold-cache.ts: the cached fold. */
export const foldPath = (sessionDir: string) => join(sessionDir, "fold.json");
/** journal/checked.ts: the files that were read completely and found good. */
export const checkedPath = (sessionDir: string) => join(sessionDir, "checked.json");
/** journal/owner.ts: the lock. Only SQLite opens it. */
export const ownerLockPath = (sessionDir: string) => join(sessionDir, "owner.lock");
/**
 * journal/owner.ts: the holder of the lock, a hint. An owner writes it after it has the lock, and removes it
 * before it releases the lock.
 */
export const ownerPath = (sessionDir: string) => join(sessionDir, "owner.json");
/** journal/segments.ts: the segments. */
export const journalDir = (sessionDir: string) => join(sessionDir, "journal");
/** journal/blobs.ts: payloads that are too long for a line. */
export const blobsDir = (sessionDir: string) => join(sessionDir, "blobs");

/** home/token.ts: the session's token. */
export const tokenPath = (sessionDir: string) => join(sessionDir, "token");
/** mail/maildir.ts: messages and tasks that were sent to the session. */
export const inboxDir = (sessionDir: string) => join(sessionDir, "inbox");
/** mail/maildir.ts: messages that the session sent. */
export const outboxDir = (sessionDir: string) => join(sessionDir, "outbox");

/** task/home/session-home.ts: HOME of the session's processes. */
export const sessionHomeDir = (sessionDir: string) => join(sessionDir, "home");
/** session/environment.ts: the values that tasks were given, a file for each request. */
export const environmentsDir = (sessionDir: string) => join(sessionDir, "env");
/** task/home/withheld.ts: contents of HOME that no export takes along. */
export const withheldPath = (sessionDir: string) => join(sessionDir, "withheld.json");
/** task/home/homes.ts: which snapshots of HOME came with an export. */
export const homesPath = (sessionDir: string) => join(sessionDir, "homes.json");
/** upkeep/moving/import-snapshots.ts: snapshots from an export, for a session that has no repo yet. */
export const snapshotsPath = (sessionDir: string) => join(sessionDir, "snapshots.pack");

/** task/files/task-dirs.ts: a directory for each task, by its number. */
export const tasksDir = (sessionDir: string) => join(sessionDir, "tasks");
const taskDir = (sessionDir: string, task: number) => join(tasksDir(sessionDir), String(task));
/** capsule/: the task's files. */
export const capsuleDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "capsule");
/** task/room/room.ts: TMPDIR of the task. */
export const scratchDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "tmp");
/** gateway/builtin/task-place.ts: the agent's notes from its work. */
export const notesPath = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "scratch.md");
/** capsule/: the files that checks run on, while they run, with a HOME and a TMPDIR of their own. */
export const verifyDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "checking");
/**
 * worker/: the files that an action runs on, while it runs: a capsule of exactly its tree, or a gitdir. With
 * a HOME and a TMPDIR.
 */
export const actingDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "acting");
/** worker/actions.ts: for each action that was allowed to run, its worker and its outcome. */
export const actionsDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "actions");
/** task/results/artifact.ts: the artifacts of the task. */
export const artifactsDir = (sessionDir: string, task: number) =>
  join(taskDir(sessionDir, task), "artifacts");

/** gateway/offered.ts: the tools of the session's last task; a cache for commands that show them. */
export const toolsPath = (sessionDir: string) => join(sessionDir, "tools.json");
/** mcp/upstream/process.ts: HOME and TMPDIR of an MCP server, by its name. */
export const serversDir = (sessionDir: string) => join(sessionDir, "servers");

/** home/process-record.ts: which process has the session now; a hint. */
export const processRecordPath = (sessionDir: string) => join(sessionDir, "host.json");
/** host/start.ts: the session process's own directory. */
export const processDir = (sessionDir: string) => join(sessionDir, "host");
/** host/: the log of the session process, and the output of the commands that run. */
export const logDir = (sessionDir: string) => join(sessionDir, "log");
/** host/refusals.ts: how many requests the door refused. */
export const refusalsPath = (sessionDir: string) => join(sessionDir, "refused.json");
