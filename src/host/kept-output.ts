/**
 * Owns how a task's output gets from the spool, where it is as it was written, into what is kept of it,
 * without secrets. The caller empties the spool after that.
 */
import { type Home, sessionDirOf } from "../home/index.ts";
import type { Session } from "../session/index.ts";
import { keepOutput } from "../task/index.ts";
import { isDiskFull } from "../util/index.ts";
import { isOfCommand, type Left, readSpool } from "./frames.ts";

/** False: there was no room for it. The journal has an excerpt. */
export async function keepSpooled(
  home: Home,
  session: Session,
  request: string,
  left?: Left,
): Promise<boolean> {
  const sessionDir = sessionDirOf(home, session.id);
  const { task } = session.state;
  if (!task) return true;
  const spooled = new Spooled(sessionDir, request);
  if (!spooled.hasOutput) return true;
  // The one place that chooses the redactor of an output.
  const room = { session, sessionDir, disk: home.io.disk, redact: session.redact };
  try {
    await keepOutput(room, task.number, { chunks: spooled.chunks(), cut: () => left ?? spooled.left });
    return true;
  } catch (error) {
    if (isDiskFull(error)) return false;
    throw error;
  }
}

/** Without the output of set-up. */
class Spooled {
  readonly #sessionDir: string;
  readonly #request: string;
  #left: Left | undefined;

  constructor(sessionDir: string, request: string) {
    this.#sessionDir = sessionDir;
    this.#request = request;
  }

  get hasOutput(): boolean {
    for (const { stream, why } of readSpool(this.#sessionDir, this.#request))
      if (isOfCommand(stream) && why === undefined) return true;
    return false;
  }

  /** Why there is no more, if the spool says so; the missing bytes are not counted. */
  get left(): Left | undefined {
    return this.#left;
  }

  *chunks(): Generator<Buffer> {
    for (const { stream, chunk, why } of readSpool(this.#sessionDir, this.#request)) {
      this.#left = why === undefined ? undefined : { why, leftBytes: null };
      if (why === undefined && isOfCommand(stream)) yield chunk;
    }
  }
}
