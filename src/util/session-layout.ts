/**
 * Owns the names of what lies in a session's directory, `sessions/<session>/`, as docs/format.md lists it: no other file
 * spells one out. It does no I/O. What an entry holds, and what lies below it, is known by the file that owns it.
 */
import { join } from "node:path";

/** In place of a session's directory: the path below it, as findings and export files name it. */
export const IN_SESSION = "";

/** session/manifest.ts: who the session is. */
export const manifestPath = (sessionDir: string) => join(sessionDir, "session.json");
/** journal/witness.ts: a durable position outside the segments. */
export const witnessPath = (sessionDir: string) => join(sessionDir, "head.json");
/** session/fold-cache.ts: the cached fold. */
export const foldPath = (sessionDir: string) => join(sessionDir, "fold.json");
/** journal/checked.ts: what was read whole and found good. */
export const checkedPath = (sessionDir: string) => join(sessionDir, "checked.json");
/** journal/owner.ts: the lock. Only SQLite opens it. */
export const ownerLockPath = (sessionDir: string) => join(sessionDir, "owner.lock");
/** journal/owner.ts: who holds the lock, a hint. It comes with an owner, and goes before the owner lets go. */
export const ownerPath = (sessionDir: string) => join(sessionDir, "owner.json");
/** journal/segments.ts: the segments. */
export const journalDir = (sessionDir: string) => join(sessionDir, "journal");
/** journal/blobs.ts: payloads that are too long for a line. */
export const blobsDir = (sessionDir: string) => join(sessionDir, "blobs");

/** home/token.ts: the session's token. */
export const tokenPath = (sessionDir: string) => join(sessionDir, "token");
/** mail/maildir.ts: what was sent to the session. */
export const inboxDir = (sessionDir: string) => join(sessionDir, "inbox");
/** mail/maildir.ts: what the session sent. */
export const outboxDir = (sessionDir: string) => join(sessionDir, "outbox");

/** task/home/session-home.ts: HOME of the session's processes. */
export const sessionHomeDir = (sessionDir: string) => join(sessionDir, "home");
/** session/environment.ts: the values that tasks were given, a file for each request. */
export const environmentsDir = (sessionDir: string) => join(sessionDir, "env");
/** task/home/withheld.ts: contents of HOME that no export takes along. */
export const withheldPath = (sessionDir: string) => join(sessionDir, "withheld.json");
/** task/home/homes.ts: which snapshots of HOME came with an export. */
export const homesPath = (sessionDir: string) => join(sessionDir, "homes.json");
/** upkeep/moving/import-snapshots.ts: the snapshots that came with an export, while the session is without its repo. */
export const snapshotsPath = (sessionDir: string) => join(sessionDir, "snapshots.pack");

/** task/files/task-dirs.ts: a directory for each task, by its number. */
export const tasksDir = (sessionDir: string) => join(sessionDir, "tasks");
const taskDir = (sessionDir: string, task: number) => join(tasksDir(sessionDir), String(task));
/** capsule/: the task's files. */
export const capsuleDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "capsule");
/** task/room/room.ts: TMPDIR of the task. */
export const scratchDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "tmp");
/** capsule/: the files that checks run on, while they run; with a HOME and a TMPDIR of theirs. */
export const verifyDir = (sessionDir: string, task: number) => join(taskDir(sessionDir, task), "checking");
/** task/results/artifact.ts: what the task left. */
export const artifactsDir = (sessionDir: string, task: number) =>
  join(taskDir(sessionDir, task), "artifacts");

/** home/process-record.ts: which process has the session now; a hint. */
export const processRecordPath = (sessionDir: string) => join(sessionDir, "host.json");
/** host/start.ts: the session process's own directory. */
export const processDir = (sessionDir: string) => join(sessionDir, "host");
/** host/: the log of the session process, and the output of what runs. */
export const logDir = (sessionDir: string) => join(sessionDir, "log");
/** host/refusals.ts: how many requests the door refused. */
export const refusalsPath = (sessionDir: string) => join(sessionDir, "refused.json");
