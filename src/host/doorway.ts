/**
 * Owns opening a session's door, once in the life of its process, when the first command comes; and what is
 * behind it.
 */

import { HoldfastError, type SessionId } from "../contract/index.ts";
import { type Home, readToken, sessionDirOf } from "../home/index.ts";
import { Door } from "./door.ts";
import type { DoorHandler } from "./door-routes.ts";
import { RefusalCount } from "./refusals.ts";
import type { SessionMail } from "./session-mail.ts";
import type { TaskGate } from "./tool-gate.ts";

export class Doorway {
  readonly #makeDir: () => string;
  readonly #handler: DoorHandler;
  readonly #refusals: RefusalCount;
  #opening: Promise<Door> | undefined;
  #door: Door | undefined;
  #gate: TaskGate | undefined;

  /** `makeDir` makes the directory of its socket, and returns its path. */
  constructor(home: Home, session: SessionId, { feed, outgoing }: SessionMail, makeDir: () => string) {
    const sessionDir = sessionDirOf(home, session);
    const refusals = new RefusalCount(sessionDir);
    this.#makeDir = makeDir;
    this.#refusals = refusals;
    this.#handler = {
      token: () => readToken(home.io.disk, sessionDir),
      nextMessage: (waitMs, gone) => feed.next(waitMs, gone),
      entered: (message) => feed.entered(message),
      send: (to, text) => outgoing.send(to, text),
      tools: async ({ request, response }, offer) => {
        if (!this.#gate) throw new HoldfastError("no_gate", "no task is under way");
        await this.#gate.handle(request, response, offer);
      },
      refused: () => refusals.add(),
    };
  }

  /** The door's directory. The door is open from then on. */
  async open(): Promise<string> {
    const dir = this.#makeDir();
    this.#opening ??= Door.open(dir, this.#handler);
    this.#opening.catch(() => {
      this.#opening = undefined;
    });
    this.#door = await this.#opening;
    return dir;
  }

  /** The tools of the task that is under way; undefined if there is none. */
  offer(gate: TaskGate | undefined): void {
    this.#gate = gate;
  }

  /** The token may have been changed just now. */
  copyToken(): void {
    this.#door?.copyToken().catch(() => {});
  }

  async close(): Promise<void> {
    this.#refusals.write();
    await this.#door?.close();
  }
}
