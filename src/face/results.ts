/**
 * Owns what the library's methods return besides the views of a session: small forms of their own, so that what is inside
 * may change.
 */
import type { Progress } from "../util/index.ts";
import type { SessionRecord } from "./records.ts";
import type { ChangeSize } from "./views.ts";

/** What a task changed. */
export interface Diff {
  /** The change as a git patch. */
  readonly patch: Buffer;
  /** The size of the change. */
  readonly stat: ChangeSize;
  /** The commit that the work is compared with; null if that is not a commit. */
  readonly base: string | null;
  /** The tree of the work. */
  readonly tree: string;
}

/** Something that happens in a session while it is watched. */
export type WatchEvent =
  /** A record is durable. */
  | { readonly kind: "record"; readonly record: SessionRecord }
  /** A command wrote this. */
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr" | "setup"; readonly chunk: Buffer }
  /** The progress of a long operation; null: none is under way any more. */
  | { readonly kind: "progress"; readonly step: Progress | null }
  /** The sandbox refused this host. */
  | { readonly kind: "refused"; readonly host: string }
  /** The session is in the line, for this reason. */
  | { readonly kind: "waits"; readonly reason: string }
  /** No process has the session any more. */
  | { readonly kind: "left" };

/** A part of what a task wrote. */
export type OutputPart =
  /** Without a stream: both, in the order in which they came. */
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr" | null; readonly chunk: Buffer }
  /** `cut`: the limit was reached. `excerpt`: only the beginning and the end follow. `goes_on`: the task is not over. */
  | { readonly kind: "note"; readonly about: "cut" | "excerpt" | "goes_on" };

/** A message that is on disk. */
export interface Sent {
  /** The id of the message. */
  readonly message: string;
  /** False: a message was sent under this id before, so this one was not sent. */
  readonly isNew: boolean;
  /** Whether a process takes the message in now. Otherwise it waits until the session continues. */
  readonly isHeard: boolean;
  /** Whether the message started a task, because the session was at rest. */
  readonly isWoken: boolean;
}

/** How a wait ended. */
export interface Waited {
  /** The number of the task that was waited for; null if there was none. */
  readonly task: number | null;
  /** The outcome of the task; or `parked`, `halted`, `refused`, `waits`, `none`. */
  readonly outcome: string;
  /** What a parked task waits for. */
  readonly why?: string;
  /** The exit status that `holdfast run` would have had. */
  readonly status: number;
  /** The exit status of the task's last command; null without one. */
  readonly exitCode: number | null;
  /** The signal that ended the task's last command; null without one. */
  readonly signal: string | null;
}

/** How a task ended that a loop drove by itself. */
export interface TaskResult {
  /** The number of the task. */
  readonly task: number;
  /** `done`, `failed` or `cancelled`; `unverified`: done, but no check confirmed it; `needs_review`: a person has to look at the work. */
  readonly outcome: string;
  /** The tree of the work. */
  readonly tree: string;
  /** The size of the work. */
  readonly stat: ChangeSize;
  /** The path of the file that has the work as a git patch. */
  readonly patch: string;
  /** The session's branch; null if there was nothing to publish, or the work was held back. */
  readonly branch: string | null;
  /** Why work that should be on the branch is not there. */
  readonly unpublished: { readonly code: string; readonly reason: string } | null;
}

/** Work that is on the session's branch. */
export interface Branched {
  /** The session's branch. */
  readonly branch: string;
  /** The commit that has the work. */
  readonly commit: string;
  /** False: the branch already had all of it. */
  readonly isNew: boolean;
}

/** Work that was merged. */
export interface Merged {
  /** The branch that has the work now. */
  readonly into: string;
  /** The new tip of that branch. */
  readonly commit: string;
  /** The number of commits that were added to it. */
  readonly commits: number;
  /** The verdict of the checks on the merged tree. */
  readonly verdict: string;
  /** False: the branch already had all of it. */
  readonly isNew: boolean;
}

/** Work that was put on a newer commit. */
export interface Rebased {
  /** The branch that the work is based on now. */
  readonly onto: string;
  /** The session's branch. */
  readonly branch: string;
  /** The new tip of the session's branch. */
  readonly commit: string;
  /** False: the work was based on that commit before. */
  readonly isNew: boolean;
}

/** A capsule that was removed. */
export interface TornDown {
  /** The task whose capsule it was. */
  readonly task: number;
  /** The snapshot that has the files; null if they were missing, and no snapshot of them was ever taken. */
  readonly snapshot: string | null;
  /** The number of bytes that were freed. */
  readonly freedBytes: number;
  /** The ports that the capsule gave back. */
  readonly ports: readonly number[];
  /** Ignored files beyond the limit. They are deleted. */
  readonly omitted: readonly string[];
}

/** Files that a person has for a while. */
export interface HandOff {
  /** The directory in which the files are. */
  readonly directory: string;
  /** The person who has them. */
  readonly to: string;
}

/** Files that a person gave back. */
export interface Returned {
  /** The turn that has the person's changes. */
  readonly turn: number;
  /** Whether the person changed any file. */
  readonly isChanged: boolean;
  /** The branch that has the changes as a commit of their own; null if none has. */
  readonly branch: string | null;
}

/** What an audit found. */
export interface Audit {
  /** Whether nothing is damaged. */
  readonly isSound: boolean;
  /** The number of artifacts that were checked. */
  readonly artifacts: number;
  /** The number of snapshots that were checked. */
  readonly snapshots: number;
  /** The places that are damaged. */
  readonly findings: readonly AuditFinding[];
}

/** One place that is damaged. */
export interface AuditFinding {
  /** The file, by its path from the session's directory. */
  readonly file: string;
  /** The byte at which the damage begins. */
  readonly offset: number;
  /** What is wrong. */
  readonly reason: string;
}

/** What an export left out. */
export interface Exported {
  /** Files of HOME in which a secret was found, and the rules that found it. */
  readonly leftOut: readonly { readonly path: string; readonly rules: readonly string[] }[];
}

/** What was freed. */
export interface Freed {
  /** The number of bytes. */
  readonly freedBytes: number;
  /** The number of things that were removed or archived. */
  readonly steps: number;
}

/** Something about the machine or the home that a person should know. */
export interface Finding {
  /** `ok`, something to know, or something that has to be repaired. */
  readonly level: "ok" | "note" | "bad";
  /** What was examined. */
  readonly what: string;
  /** What was found. */
  readonly detail: string;
}
