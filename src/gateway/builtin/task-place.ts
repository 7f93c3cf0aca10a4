/**
 * Owns the place in which the built-in tools work on a running task: its capsule, its sandbox, its session's
 * blobs and notes.
 */
import { appendFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AgentProcess, ProcessOptions, Workplace } from "../../agent/index.ts";
import { readMaybeCompressed } from "../../journal/index.ts";
import type { TaskUser } from "../../process/index.ts";
import { withoutSecrets } from "../../redaction/index.ts";
import type { Task } from "../../task/index.ts";
import { blobsDir, errorCode, notesPath, sha256Hex } from "../../util/index.ts";
import { Commands } from "./commands.ts";
import type { Grounds, ToolPlace } from "./place.ts";
import { CantDo } from "./tool.ts";

const MAX_NOTES_BYTES = 1024 * 1024;
const MAX_BLOB_BYTES = 64 * 1024 * 1024;

/** What the session process provides for the tools of a task. */
export interface Around extends Pick<ToolPlace, "send" | "ask"> {
  /** Where its commands are started. */
  readonly work: Pick<Workplace, "start">;
  /** The directory in which the task was asked for, from the top. */
  readonly cwd?: string | undefined;
}

export class TaskPlace implements ToolPlace {
  readonly commands = new Commands();
  readonly send: ToolPlace["send"];
  readonly ask: ToolPlace["ask"];
  readonly #task: Task;
  readonly #around: Around;

  constructor(task: Task, around: Around) {
    this.#task = task;
    this.#around = around;
    this.send = around.send;
    this.ask = around.ask;
  }

  get isReadOnly(): boolean {
    return this.#task.lane.isReadOnly;
  }

  get user(): TaskUser | undefined {
    return this.#task.sandbox?.user;
  }

  get base(): string | null {
    return this.#task.base;
  }

  async grounds(): Promise<Grounds> {
    const { root, workTree } = await this.#task.capsule.attach();
    return { root, top: this.#task.sandbox?.at ?? workTree, start: this.#around.cwd ?? "" };
  }

  writing<T>(write: () => T): Promise<T> {
    return this.#task.beginnings.begin(async () => {
      const writer = this.#task.last.beginWriter();
      try {
        await this.#task.capsule.unsettle();
        return write();
      } finally {
        writer.end();
      }
    });
  }

  start(command: readonly string[], options: ProcessOptions): Promise<AgentProcess> {
    return this.#around.work.start(command, options);
  }

  async readBlob(sha256: string): Promise<Buffer | undefined> {
    const path = join(blobsDir(this.#task.room.sessionDir), sha256);
    const bytes = await readMaybeCompressed(path, MAX_BLOB_BYTES).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    });
    return bytes && sha256Hex(bytes) === sha256 ? bytes : undefined;
  }

  async note(text: string): Promise<void> {
    const { session, sessionDir } = this.#task.room;
    const path = notesPath(sessionDir, this.#task.number);
    const size = await stat(path).then(
      (stats) => stats.size,
      () => 0,
    );
    const noted = `${(await withoutSecrets(session.redact, text)).trimEnd()}\n\n`;
    if (size + Buffer.byteLength(noted) > MAX_NOTES_BYTES)
      throw new CantDo(`the notes of a task are limited to ${MAX_NOTES_BYTES} bytes`);
    await appendFile(path, noted, { mode: 0o600, flush: true });
  }

  /** Ends all processes that the tools started. */
  end(): Promise<void> {
    return this.commands.endAll();
  }
}
