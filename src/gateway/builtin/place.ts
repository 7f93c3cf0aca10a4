/**
 * Owns the port between the built-in tools and the task that they work for: its files, its sandbox, its
 * session's blobs, and the people and sessions around it. The tools know nothing else about a task.
 */
import type { AgentProcess, ProcessOptions } from "../../agent/index.ts";
import type { TaskUser } from "../../process/index.ts";
import type { Commands } from "./commands.ts";

/** Where the files of a capsule are while they can be accessed. */
export interface Grounds {
  /** The top directory, for Holdfast's own process. */
  readonly root: string;
  /** The top directory, as the task's commands see it. */
  readonly top: string;
  /**
   * The directory in which the task was asked for, from the top; empty for the top. Relative paths begin
   * there.
   */
  readonly start: string;
}

export interface Question {
  readonly text: string;
  /** Whether a person is asked to continue with the files themselves. */
  readonly isTakeOver: boolean;
}

export interface Asked {
  /** The id of the question. */
  readonly question: string;
  /** Undefined: there was no answer during the wait. The question stays open. */
  readonly answer: string | undefined;
}

export interface ToolPlace {
  readonly isReadOnly: boolean;
  /** The owner of the files; undefined: the user of this process. */
  readonly user: TaskUser | undefined;
  /** The commit that the task began with; null in a repo without one. */
  readonly base: string | null;
  /** Background commands that the tools started. */
  readonly commands: Commands;
  grounds(): Promise<Grounds>;
  /** Runs a write to the files. The last checkpoint does not count from then on. */
  writing<T>(write: () => T): Promise<T>;
  /** Starts a command in the task's sandbox, and records it. */
  start(command: readonly string[], options: ProcessOptions): Promise<AgentProcess>;
  /** Undefined: the session has no such blob. */
  readBlob(sha256: string): Promise<Buffer | undefined>;
  /** Sends a message to another session or to the person; resolves to the message's id. */
  send(to: string, text: string): Promise<string>;
  ask(question: Question, signal: AbortSignal): Promise<Asked>;
  /** Appends to the task's notes. */
  note(text: string): Promise<void>;
}
