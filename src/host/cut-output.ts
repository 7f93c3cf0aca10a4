/**
 * Owns the output of a command whose session process was killed, for the next owner, which closes the turn
 * that was cut off. When all of it is kept, it is removed from the spool, because it has secrets in it and
 * the next turn has an output of its own.
 */
import { statSync, truncateSync } from "node:fs";
import type { Home } from "../home/index.ts";
import { drivenTask, Excerpt, type Session, type SessionState } from "../session/index.ts";
import { isOfCommand, readSpool, spoolPath } from "./frames.ts";

export class CutOutput {
  readonly #sessionDir: string;

  constructor(sessionDir: string) {
    this.#sessionDir = sessionDir;
  }

  /** For the record of the turn. */
  readonly read = ({ task }: Pick<SessionState, "task">): string => {
    const excerpt = new Excerpt();
    for (const { stream, chunk } of task?.request ? readSpool(this.#sessionDir, task.request) : [])
      if (isOfCommand(stream)) excerpt.add(chunk);
    return excerpt.text();
  };

  /** The turn is on record. Output of a task that has not ended is kept, also if a kill came before this. */
  async settle(home: Home, session: Session): Promise<void> {
    const task = drivenTask(session.state);
    if (!task) return;
    const path = spoolPath(this.#sessionDir, task.request);
    if (!statSync(path, { throwIfNoEntry: false })?.size) return;
    const { keepSpooled } = await import("./kept-output.ts");
    if (await keepSpooled(home, session, task.request)) truncateSync(path);
  }
}
