/**
 * Owns the list of what a journal names outside itself: blobs, snapshots of files and of HOME, artifacts,
 * messages. An export takes these along, and an import compares its files with them.
 */
import { join } from "node:path";
import type { NamedSnapshot } from "../../capsule/index.ts";
import type { Json, JsonObject } from "../../contract/index.ts";
import { blobReferences, type Position, readDurable } from "../../journal/index.ts";
import { textIn } from "../../session/index.ts";
import { artifactsDir, IN_SESSION, isPlainObject, TEMPORARY_PREFIX } from "../../util/index.ts";

export interface NamedFile {
  readonly bytes: number;
  readonly sha256: string;
}

export interface Named {
  /** The position at which reading ended. */
  readonly head: Position;
  /** Their lengths, by their SHA-256. */
  readonly blobs: ReadonlyMap<string, number>;
  /** By their commits. */
  readonly snapshots: ReadonlyMap<string, NamedSnapshot>;
  readonly homes: ReadonlyMap<string, NamedSnapshot>;
  /** By their paths in the session's directory. */
  readonly artifacts: ReadonlyMap<string, NamedFile>;
  /** Names of artifacts that no file of a session can have. */
  readonly unusable: ReadonlySet<string>;
  /** The ids of all messages that were ever taken in. */
  readonly messages: ReadonlySet<string>;
}

export async function readNamed(sessionDir: string): Promise<Named> {
  const named = {
    blobs: new Map<string, number>(),
    snapshots: new Map<string, NamedSnapshot>(),
    homes: new Map<string, NamedSnapshot>(),
    artifacts: new Map<string, NamedFile>(),
    unusable: new Set<string>(),
    messages: new Set<string>(),
  };
  const records = readDurable(sessionDir);
  for (;;) {
    const step = await records.next();
    if (step.done) return { head: step.value.end, ...named };
    const { record } = step.value;
    for (const { $blob } of blobReferences(record.data)) named.blobs.set($blob.sha256, $blob.bytes);
    const { type, data } = record;
    if (type === "snapshot_taken") add(named.snapshots, data);
    if (WITH_HOME.has(type)) add(named.homes, data["home"]);
    if (type === "artifact_written") noteArtifact(named, data);
    // A fork has the records of its parent, and none of the files.
    if (type === "session_forked") named.artifacts.clear();
    if (type === "message_received" || type === "message_set_aside")
      named.messages.add(textIn(data["message"]));
  }
}

const WITH_HOME: ReadonlySet<string> = new Set(["snapshot_taken", "task_started", "session_imported"]);

/** Accepts any value that has the form of a snapshot. A HOME without a snapshot was empty. */
function add(snapshots: Map<string, NamedSnapshot>, value: Json | undefined): void {
  if (!isPlainObject(value)) return;
  const [commit, manifest] = [textIn(value["snapshot"]), textIn(value["manifest"])];
  if (commit !== "") snapshots.set(commit, { commit, manifest });
}

/** The last record for a task and a name counts. */
function noteArtifact(
  { artifacts, unusable }: { artifacts: Map<string, NamedFile>; unusable: Set<string> },
  { task, name, sha256, bytes }: JsonObject,
): void {
  const path = artifactPath(String(task), textIn(name));
  if (path === undefined) unusable.add(textIn(name));
  else artifacts.set(path, { bytes: Number(bytes), sha256: textIn(sha256) });
}

const MAX_NAME_BYTES = 200;

/** Undefined if no file of a session can have that name. */
export function artifactPath(task: string, name: string): string | undefined {
  if (!/^[1-9]\d{0,8}$/.test(task) || !name.isWellFormed()) return undefined;
  if (Buffer.byteLength(name) > MAX_NAME_BYTES || /^\.*$/.test(name)) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a name must not have
  if (/[/\\\u0000-\u001f\u007f]/.test(name) || name.startsWith(TEMPORARY_PREFIX)) return undefined;
  return join(artifactsDir(IN_SESSION, Number(task)), name);
}
