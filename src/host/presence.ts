/**
 * Owns how a session process is found and rung while it has its session: a directory for its sockets, the
 * bell in it, and the record that names both. All of it is removed before the session is let go, because the
 * next process may use the same names from then on.
 */
import { type FSWatcher, mkdirSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { type Home, removeProcessRecord, sessionDirOf, writeProcessRecord } from "../home/index.ts";
import { type Bell, hangBell, type Maildir, makeRuntimeDir, removeRuntimeDir } from "../mail/index.ts";
import type { Session } from "../session/index.ts";

/** The path of a socket is limited to about a hundred bytes. */
export const shellSocket = (bell: string, shell: string) => join(dirname(bell), `shell-${shell.slice(-10)}`);

const LOOK_ANYWAY_MS = 5 * 60_000;

export class Presence {
  readonly #sessionDir: string;
  readonly #runtimeDir: string;
  readonly #epoch: number;
  #bell: Bell | undefined;
  #watcher: FSWatcher | undefined;
  #looking: NodeJS.Timeout | undefined;

  private constructor(sessionDir: string, runtimeDir: string, epoch: number) {
    this.#sessionDir = sessionDir;
    this.#runtimeDir = runtimeDir;
    this.#epoch = epoch;
  }

  /** `look` as the bell needs it: it fails when we are leaving. */
  static async begin(
    home: Home,
    session: Session,
    inbox: Maildir,
    look: () => Promise<void>,
  ): Promise<Presence> {
    const { id, epoch } = session;
    const presence = new Presence(sessionDirOf(home, id), makeRuntimeDir(home.dir, id), epoch);
    await presence.#listen(inbox, look);
    await presence.tell(null);
    return presence;
  }

  async #listen(inbox: Maildir, look: () => Promise<void>): Promise<void> {
    const lookUnasked = () => void look().catch(() => {});
    try {
      this.#bell = await hangBell(this.path("bell"), look);
    } catch {
      // Used if no socket can be made. Each process needs such a watch, and a machine allows only a limited
      // number of them.
      await inbox.make();
      this.#watcher = watch(inbox.newDir, lookUnasked);
    }
    // A process that put something in may have been killed before it could ring.
    this.#looking = setInterval(lookUnasked, LOOK_ANYWAY_MS).unref();
  }

  /** The path of one of its sockets. */
  path(name: string): string {
    return join(this.#runtimeDir, name);
  }

  /** For a shell beside the command: a process that knows the bell knows this path, too. */
  shellSocket(shell: string): string {
    return shellSocket(this.path("bell"), shell);
  }

  makeDir(name: string): string {
    mkdirSync(this.path(name), { recursive: true, mode: 0o700 });
    return this.path(name);
  }

  /** Where its command's terminal is, or that it has none. */
  async tell(terminal: string | null): Promise<void> {
    const bell = this.#bell ? this.path("bell") : null;
    await writeProcessRecord(this.#sessionDir, { epoch: this.#epoch, bell, terminal });
    this.news();
  }

  /** `isUrgent`: a person or a program may wait for it. */
  news(isUrgent = false): void {
    this.#bell?.news(isUrgent);
  }

  /** Whether a person watches the session. */
  get isWatched(): boolean {
    return this.#bell?.hasListeners ?? false;
  }

  end(): void {
    clearInterval(this.#looking);
    this.#watcher?.close();
    removeProcessRecord(this.#sessionDir);
    this.#bell?.takeDown();
    removeRuntimeDir(this.#runtimeDir);
  }
}
