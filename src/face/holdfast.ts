/**
 * Owns the library: `openHoldfast`, and what can be asked of a home. A session that this process owns is an
 * `OwnedSession`. A `SessionHandle` reaches any session, whichever process owns it.
 */
import { closeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Budget, parseUser } from "../contract/index.ts";
import { Dispatcher, Requests } from "../dispatch/index.ts";
import { defaultUser, Feed, type SearchHit, type ShownStatus } from "../home/index.ts";
import type { ConflictsIn } from "../task/index.ts";
import { assertKnown, type Clock, type Disk, type OnProgress, present } from "../util/index.ts";
import { beginForm, newSessionForm, parseForm, type TaskRequest } from "./forms.ts";
import { OwnedSession } from "./owned-session.ts";
import { type SessionRecord, typed } from "./records.ts";
import type { Finding, Freed, PersonRequest, SessionView } from "./results.ts";
import { SessionHandle } from "./session.ts";
import { specOf } from "./task-asked.ts";
import { viewOf } from "./view.ts";

/** How a home is opened. */
export interface HoldfastOptions {
  /** The directory. Default: `HOLDFAST_HOME`, else `~/.holdfast`. */
  readonly home?: string;
  /** Whose sessions: a filter, not a wall. Default: the name of the OS user. */
  readonly user?: string;
  /** Whether a home that is not there is made. Default: true. */
  readonly create?: boolean;
  /** What long work is at: files checked out, snapshots packed, an export written. */
  readonly onProgress?: OnProgress;
  /** For tests: time. */
  readonly clock?: Clock;
  /** For tests: the disk. */
  readonly disk?: Disk;
  /** For tests: new ids. */
  readonly newId?: (prefix: string) => string;
}
const OPTIONS = [
  "home",
  "create",
  "clock",
  "disk",
  "newId",
  "onProgress",
  "user",
] satisfies (keyof HoldfastOptions)[];

/** What a session is opened with. */
export interface OpenOptions {
  /** Exactly this name. Without one, the session is called after its title. */
  readonly name?: string;
  readonly title?: string;
  /** A path in the repo that its tasks work on. Without one, they begin with an empty directory. */
  readonly repo?: string;
  /** The agent that its tasks go to where they name none. */
  readonly agent?: string;
  readonly budget?: Budget;
  /** Words of your own, to list it by. */
  readonly tags?: readonly string[];
  /** Names and short texts of your own, which are shown with it. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Which sessions are listed: those that everything said here is true of. */
export interface SessionFilter {
  readonly status?: readonly ShownStatus[];
  readonly agent?: string;
  readonly repo?: string;
  /** All of these tags. */
  readonly tags?: readonly string[];
  /** All of these names, with these texts. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** How much all sessions of a home may take together; null: no limit. */
export interface HomeLimits {
  readonly maxSessions: number | null;
  readonly maxMemoryBytes: number | null;
}

/** How a session is taken up again. */
export interface ResumeOptions {
  /** Limits of its budget, raised before it continues. */
  readonly budget?: Budget;
  /** Ends the process that has the session, if there is one. */
  readonly takeOver?: boolean;
  /** Whether its files come back with it. Default: true. */
  readonly files?: boolean;
}

/** One record of one of the user's sessions. */
export interface HomeEvent {
  /** Pass this as `after` to continue after the record. */
  readonly cursor: string;
  readonly session: string;
  readonly record: SessionRecord;
}

/** How often the journals of all sessions are looked at: a loop that drives a session itself rings no bell. */
const LOOK_MS = 100;

/** Opens a home; one that is not there is made. */
export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  assertKnown(options, OPTIONS);
  const { user = defaultUser(), ...home } = options;
  return new Holdfast(await Dispatcher.open(home), parseUser(user));
}

/** For the server, which answers several users over one dispatcher. */
export const holdfastOf = (dispatcher: Dispatcher, user: string) => new Holdfast(dispatcher, user);

/** A home: the sessions of one user. Methods fail with a HoldfastError where a failure is to be expected. */
export class Holdfast {
  readonly #dispatcher: Dispatcher;
  readonly #user: string;

  /** @internal */
  constructor(dispatcher: Dispatcher, user: string) {
    this.#dispatcher = dispatcher;
    this.#user = user;
  }

  /** The directory of the home. */
  get dir(): string {
    return this.#dispatcher.home.dir;
  }

  /** Opens a new session, owned by this process. For one with a process of its own, see `begin`. */
  async openSession(options: OpenOptions = {}): Promise<OwnedSession> {
    const { holdfast } = this.#dispatcher;
    const { repo, ...rest } = parseForm(newSessionForm, options);
    const path = repo === undefined ? undefined : await holdfast.resolveRepo(repo);
    const session = await holdfast.openSession({ ...present({ ...rest, repo: path }), user: this.#user });
    return new OwnedSession(this.#dispatcher, session);
  }

  /** Takes a session up again, owned by this process. A turn that a crash cut off is closed. */
  async resumeSession(id: string, options: ResumeOptions = {}): Promise<OwnedSession> {
    assertKnown(options, ["budget", "takeOver", "files"]);
    const session = await this.#dispatcher.holdfast.resumeSession(id, { ...options, user: this.#user });
    return new OwnedSession(this.#dispatcher, session);
  }

  /** Opens a new session with its first task, in a process of its own, which outlives this one. */
  async begin(
    task: TaskRequest,
    session: OpenOptions = {},
  ): Promise<{ readonly session: SessionHandle; readonly request: string }> {
    const asked = parseForm(beginForm, { task, session });
    const { repo, ...rest } = asked.session ?? {};
    const path = repo === undefined ? null : await this.#dispatcher.holdfast.resolveRepo(repo);
    const from = {
      repo: path,
      agent: rest.agent ?? null,
      definition: null,
      task: null,
      branch: null,
      merged: null,
    };
    const { spec, title, options } = await specOf(this.#dispatcher, asked.task, from);
    const opening = { title, ...present({ ...rest, repo }), user: this.#user };
    const begun = await this.#dispatcher.begin(opening, spec, options);
    closeSync(begun.outputFd);
    return { session: this.#handle(begun.id), request: begun.request };
  }

  /** The session of this id, this name, or an id that begins like this. */
  async session(text: string): Promise<SessionHandle> {
    const { id } = await this.#dispatcher.holdfast.resolveSession(text, { user: this.#user });
    return this.#handle(id);
  }

  /** The sessions, oldest first. */
  async listSessions(filter: SessionFilter = {}): Promise<SessionView[]> {
    assertKnown(filter, ["status", "agent", "repo", "tags", "metadata"]);
    return (await this.#dispatcher.list({ ...filter, user: this.#user })).map(viewOf);
  }

  /** The records of one session, oldest first, each once it is durable. */
  async *readJournal(id: string, options: { readonly fromSeq?: number } = {}): AsyncGenerator<SessionRecord> {
    yield* this.#handle(id).readJournal(options);
  }

  /**
   * The records of all sessions in one stream, as they become durable, until the signal. With `after`, the stream
   * continues there: each record comes once, also after a crash. Without it, the stream begins now.
   */
  async *events(options: {
    readonly after?: string;
    readonly signal: AbortSignal;
  }): AsyncGenerator<HomeEvent> {
    assertKnown(options, ["after", "signal"]);
    const { signal } = options;
    using feed = await Feed.open(this.#dispatcher.home);
    let cursor = options.after ?? feed.end();
    while (!signal.aborted) {
      await feed.look();
      for await (const { record, session, cursor: at } of feed.after(cursor, this.#user)) {
        cursor = at;
        yield { cursor, session, record: typed(record) };
        if (signal.aborted) return;
      }
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Where these words stand in the sessions' messages, tasks and results. */
  search(words: readonly string[], options: { readonly limit?: number } = {}): Promise<SearchHit[]> {
    assertKnown(options, ["limit"]);
    return this.#dispatcher.holdfast.search(words, { ...options, user: this.#user });
  }

  /** What waits for a person in all sessions, the oldest first. */
  requests(): Promise<PersonRequest[]> {
    return new Requests(this.#dispatcher).all({ user: this.#user });
  }

  /** Which sessions will collide when they are merged, repo by repo. */
  conflicts(): Promise<ConflictsIn[]> {
    return this.#dispatcher.holdfast.findConflicts({ user: this.#user });
  }

  /** Takes a session in from an export. It is paused. */
  async importSession(file: string, options: { readonly repo?: string } = {}): Promise<SessionHandle> {
    assertKnown(options, ["repo"]);
    return this.#handle(
      await this.#dispatcher.holdfast.importSession(file, { ...options, user: this.#user }),
    );
  }

  /** Frees what no session needs, in the whole home; archives what was closed long ago. */
  async collectGarbage(options: { readonly dryRun?: boolean } = {}): Promise<Freed> {
    assertKnown(options, ["dryRun"]);
    const { freedBytes, done } = await this.#dispatcher.holdfast.gc(options);
    return { freedBytes, steps: done.length };
  }

  /** What this machine can do, and whether every session is whole. */
  examine(options: { readonly deep?: boolean } = {}): Promise<Finding[]> {
    assertKnown(options, ["deep"]);
    return this.#dispatcher.holdfast.examine(options);
  }

  /** How much all sessions of the home may take together. */
  limits(): Promise<HomeLimits> {
    return this.#dispatcher.limits();
  }

  /** Sets limits of the home; null lifts one. */
  setLimits(limits: Partial<HomeLimits>): Promise<void> {
    return this.#dispatcher.limit(limits);
  }

  #handle(id: string): SessionHandle {
    return new SessionHandle(this.#dispatcher, id, this.#user);
  }
}
