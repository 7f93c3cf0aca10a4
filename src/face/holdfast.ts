/**
 * Owns the library: `openHoldfast`, and what can be asked of a home. A session that this process owns is an
 * `OwnedSession`. A `SessionHandle` reaches any session, whichever process owns it.
 */
import { closeSync } from "node:fs";
import { type Budget, parseUser } from "../contract/index.ts";
import { Dispatcher, Requests, type Standing } from "../dispatch/index.ts";
import { defaultUser, type SearchHit } from "../home/index.ts";
import type { ConflictsIn } from "../task/index.ts";
import { assertKnown, type OnProgress, present } from "../util/index.ts";
import { findDefinition } from "./definitions.ts";
import { beginForm, limitsForm, newSessionForm, parseOptions } from "./forms.ts";
import { type HomeEvent, HomeStream } from "./home-stream.ts";
import { OwnedSession } from "./owned-session.ts";
import type { SessionRecord } from "./records.ts";
import type { Finding, Freed } from "./results.ts";
import { SessionHandle } from "./session.ts";
import { requestOf } from "./shape.ts";
import { specOf } from "./task-asked.ts";
import type { TaskRequest } from "./task-request.ts";
import { viewOf } from "./view.ts";
import type { PersonRequest, SessionView } from "./views.ts";

/** How a home is opened. */
export interface HoldfastOptions {
  /** The directory. Default: `HOLDFAST_HOME`, else `~/.holdfast`. */
  readonly home?: string;
  /** The user whose sessions are reached. Default: the name of the OS user. */
  readonly user?: string;
  /** Whether to make the home if it does not exist. Default: true. */
  readonly create?: boolean;
  /** Reports the progress of long operations: files checked out, snapshots packed, an export written. */
  readonly onProgress?: OnProgress;
}

/** What a session is opened with. */
export interface OpenOptions {
  /** Exactly this name. Without one, the session is named after its title. */
  readonly name?: string;
  /** What the session is about. */
  readonly title?: string;
  /** A path in the repo that its tasks work on. Without one, they begin with an empty directory. */
  readonly repo?: string;
  /** The agent for tasks that name none. */
  readonly agent?: string;
  /** The limits of the session. A limit that is missing is not set. */
  readonly budget?: Budget;
  /** Words of your own, to list it by. */
  readonly tags?: readonly string[];
  /** Names and short texts of your own, which are shown with it. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Which sessions are listed: those that match every member. */
export interface SessionFilter {
  /** Sessions that stand in one of these ways, as their view shows it. */
  readonly standing?: readonly Standing[];
  /** Sessions with this agent. */
  readonly agent?: string;
  /** Sessions of this repo. */
  readonly repo?: string;
  /** Sessions with all of these tags. */
  readonly tags?: readonly string[];
  /** Sessions that have all of these names with these texts. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** How much all sessions of a home may use together. */
export interface HomeLimits {
  /** How many sessions run at the same time; null: no limit. */
  readonly maxSessions: number | null;
  /** How much memory they use together; null: no limit. */
  readonly maxMemoryBytes: number | null;
}

/** How a session is resumed. */
export interface ResumeOptions {
  /** New limits of the session, each at least as high as before; limits that are missing stay. To add amounts, call `raiseBudget`. */
  readonly budget?: Budget;
  /** Ends the process that has the session, if there is one. */
  readonly takeOver?: boolean;
  /** Whether to bring back its files. Default: true. */
  readonly files?: boolean;
}

/** Opens a home. Makes it if it does not exist. */
export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  assertKnown("openHoldfast", options, ["home", "user", "create", "onProgress"]);
  const { user = defaultUser(), ...home } = options;
  return new Holdfast(await Dispatcher.open(home), parseUser(user));
}

/** For the server, which answers several users over one dispatcher. */
export const holdfastOf = (dispatcher: Dispatcher, user: string) => new Holdfast(dispatcher, user);

/** A home: the sessions of one user. A method that fails for an expected reason throws a HoldfastError. */
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
    const { repo, ...rest } = parseOptions("openSession", newSessionForm, options);
    const path = repo === undefined ? undefined : await holdfast.resolveRepo(repo);
    const definition = await findDefinition(this.#dispatcher, rest.agent, { repo: path ?? null });
    const opening = { ...present({ ...rest, repo: path, definition }), user: this.#user };
    const session = await holdfast.openSession(opening);
    return new OwnedSession(this.#dispatcher, session);
  }

  /** Resumes a session; this process becomes its owner. A turn that a crash cut off is closed. */
  async resumeSession(id: string, options: ResumeOptions = {}): Promise<OwnedSession> {
    assertKnown("resumeSession", options, ["budget", "takeOver", "files"]);
    const session = await this.#dispatcher.holdfast.resumeSession(id, { ...options, user: this.#user });
    return new OwnedSession(this.#dispatcher, session);
  }

  /** Opens a new session with its first task, in a process of its own, which outlives this one. */
  async begin(
    task: TaskRequest,
    session: OpenOptions = {},
  ): Promise<{ readonly session: SessionHandle; readonly request: string }> {
    const asked = parseOptions("begin", beginForm, { task, session });
    const { repo, ...rest } = asked.session ?? {};
    const path = repo === undefined ? null : await this.#dispatcher.holdfast.resolveRepo(repo);
    const { base, isFresh } = asked.task;
    const agent = rest.agent ?? asked.task.agent;
    const which = { repo: path, ...present({ base, isFresh }) };
    const definition = await findDefinition(this.#dispatcher, agent, which);
    const from = {
      repo: path,
      agent: agent ?? null,
      definition: definition ?? null,
      task: null,
      branch: null,
      merged: null,
    };
    const { spec, title, options } = await specOf(this.#dispatcher, asked.task, from);
    const opening = { title, ...present({ ...rest, repo, definition }), user: this.#user };
    const begun = await this.#dispatcher.begin(opening, spec, options);
    closeSync(begun.outputFd);
    return { session: this.#handle(begun.id), request: begun.request };
  }

  /** Finds a session by its name, its id, or the first characters of its id. */
  async session(text: string): Promise<SessionHandle> {
    const { id } = await this.#dispatcher.holdfast.resolveSession(text, { user: this.#user });
    return this.#handle(id);
  }

  /** Lists the sessions, oldest first. */
  async listSessions(filter: SessionFilter = {}): Promise<SessionView[]> {
    assertKnown("listSessions", filter, ["standing", "agent", "repo", "tags", "metadata"]);
    return (await this.#dispatcher.list({ ...filter, user: this.#user })).map(viewOf);
  }

  /** Yields the records of one session, oldest first, each once it is durable. */
  async *readJournal(id: string, options: { readonly fromSeq?: number } = {}): AsyncGenerator<SessionRecord> {
    yield* this.#handle(id).readJournal(options);
  }

  /**
   * Yields the records of all sessions in one stream, each once it is durable, until `signal` aborts. With `after`, the
   * stream continues after that cursor and yields each record once, even after a crash. Without it, the stream begins
   * now.
   */
  async *events(options: {
    readonly after?: string;
    readonly signal: AbortSignal;
  }): AsyncGenerator<HomeEvent> {
    assertKnown("events", options, ["after", "signal"]);
    const { after, signal } = options;
    using stream = await HomeStream.open(this.#dispatcher.home, this.#user, after);
    yield* stream.records(signal);
  }

  /** Searches the messages, tasks and results of all sessions for these words. */
  search(words: readonly string[], options: { readonly limit?: number } = {}): Promise<SearchHit[]> {
    assertKnown("search", options, ["limit"]);
    return this.#dispatcher.holdfast.search(words, { ...options, user: this.#user });
  }

  /** Lists the approvals and questions of all sessions that wait for a person, oldest first. */
  async requests(): Promise<PersonRequest[]> {
    return (await new Requests(this.#dispatcher).all({ user: this.#user })).map(requestOf);
  }

  /** Finds the sessions whose work conflicts, with each other or with the branch that they would be merged into, repo by repo. */
  conflicts(): Promise<ConflictsIn[]> {
    return this.#dispatcher.holdfast.findConflicts({ user: this.#user });
  }

  /** Imports a session from an export. The session is paused. */
  async importSession(file: string, options: { readonly repo?: string } = {}): Promise<SessionHandle> {
    assertKnown("importSession", options, ["repo"]);
    return this.#handle(
      await this.#dispatcher.holdfast.importSession(file, { ...options, user: this.#user }),
    );
  }

  /** Frees what no session needs, in the whole home, and archives sessions that were closed long ago. */
  async collectGarbage(options: { readonly dryRun?: boolean } = {}): Promise<Freed> {
    assertKnown("collectGarbage", options, ["dryRun"]);
    const { freedBytes, done } = await this.#dispatcher.holdfast.gc(options);
    return { freedBytes, steps: done.length };
  }

  /** Examines what this machine can do, and whether every session is whole. */
  examine(options: { readonly deep?: boolean } = {}): Promise<Finding[]> {
    assertKnown("examine", options, ["deep"]);
    return this.#dispatcher.holdfast
      .examine(options)
      .then((found) => found.map(({ level, what, detail }) => ({ level, what, detail })));
  }

  /** Returns how much all sessions of the home may use together. */
  limits(): Promise<HomeLimits> {
    return this.#dispatcher.limits();
  }

  /** Sets limits of the home. Null removes a limit; limits that are missing stay. */
  async setLimits(limits: Partial<HomeLimits>): Promise<void> {
    await this.#dispatcher.limit(present(parseOptions("setLimits", limitsForm, limits)));
  }

  #handle(id: string): SessionHandle {
    return new SessionHandle(id, { dispatcher: this.#dispatcher, scope: { user: this.#user } });
  }
}
