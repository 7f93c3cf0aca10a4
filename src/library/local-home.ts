/**
 * Owns what this process can do with a home by itself, without a session process: one method for each operation, which
 * the file that owns the operation carries out. The published library is in face/.
 */
import type { JournalRecord } from "../contract/index.ts";
import {
  type ForkOptions,
  type FoundSession,
  findSession,
  type HoldfastOptions,
  type Home,
  keepSession,
  listSessions,
  type Meant,
  type NewSession,
  openHome,
  openSession,
  type ResumeOptions,
  resolveRepo,
  resolveSession,
  type SearchHit,
  type SearchOptions,
  type SessionFilter,
  type SessionSummary,
  type ShowOptions,
  searchSessions,
  showSession,
  type Whereabouts,
} from "../home/index.ts";
import {
  type FollowOptions,
  followRecords,
  type HistoryTurn,
  historyOf,
  type ReadOptions,
  readRecords,
  type Session,
  type SessionState,
} from "../session/index.ts";
import {
  currentTask,
  discardUnused,
  forkSession,
  resumeWithFiles,
  settleSession,
  startTask,
  type Task,
  type TaskOptions,
  type WithFiles,
} from "../task/index.ts";
import type {
  Archived,
  Audit,
  DeepOptions,
  Exported,
  ExportOptions,
  Finding,
  GcOptions,
  GcResult,
  ImportOptions,
  Removal,
  RemovalOptions,
  Repair,
  SessionDiskUse,
} from "../upkeep/index.ts";

import { type Scope, SessionFiles } from "./session-files.ts";

/** Loaded when it is asked for: most calls only begin a task, and a start is mostly loading. */
const upkeep = () => import("../upkeep/index.ts");
type Upkeep = Awaited<ReturnType<typeof upkeep>>;
type Tending<T> = (upkeep: Upkeep, home: Home, found: FoundSession) => Promise<T>;

export async function openLocalHome(options: HoldfastOptions = {}): Promise<LocalHome> {
  return new LocalHome(await openHome(options));
}

/** Every method fails with a HoldfastError where a failure is to be expected, the file system's included. */
export class LocalHome extends SessionFiles {
  get dir(): string {
    return this.home.dir;
  }

  openSession(options: NewSession = {}): Promise<Session> {
    return this.run((home) => openSession(home, options));
  }

  resumeSession(id: string, options: ResumeOptions & WithFiles = {}): Promise<Session> {
    return this.run((home) => resumeWithFiles(home, id, options));
  }

  forkSession(id: string, options: ForkOptions = {}): Promise<Session> {
    return this.run((home) => forkSession(home, id, options));
  }

  pauseSession(id: string, { user }: Scope = {}): Promise<SessionState> {
    return this.run((home) => settleSession(home, id, "session_paused", user));
  }

  closeSession(id: string, { user }: Scope = {}): Promise<SessionState> {
    return this.run((home) => settleSession(home, id, "session_closed", user));
  }

  archiveSession(id: string, { user }: Scope = {}): Promise<Archived> {
    return this.#tend(id, user, ({ archiveSession }, home, found) => archiveSession(home, found));
  }

  /** The path by which a session knows the repo that stands at or above this one. */
  resolveRepo(path: string): Promise<string> {
    return this.run((home) => resolveRepo(home, path));
  }

  /** A task of its own for an open session: a capsule of the session's repo. */
  startTask(session: Session, options: TaskOptions = {}): Promise<Task> {
    return this.run((home) => startTask(home, session, options));
  }

  /** Throws a session away that never did anything; says whether it was one. */
  discardUnused(session: Session): Promise<boolean> {
    return this.run((home) => discardUnused(home, session));
  }

  /** The task that an open session is at. */
  currentTask(session: Session, options: Pick<TaskOptions, "sandbox"> = {}): Promise<Task> {
    return this.run((home) => currentTask(home, session, options));
  }

  /** Oldest first. */
  listSessions(filter: SessionFilter = {}): Promise<SessionSummary[]> {
    return this.run((home) => listSessions(home, filter));
  }

  /** With `task`, what is said of its task is said of that one, as it ended. */
  showSession(id: string, options: ShowOptions = {}): Promise<SessionSummary> {
    return this.run((home) => showSession(home, id, options));
  }

  /** What it takes of the disk now; snapshots, which lie in the store of its repo, are not counted. */
  diskUse(id: string, { user }: Scope = {}): Promise<SessionDiskUse> {
    return this.#tend(id, user, ({ diskUseOf }, home, found) => diskUseOf(home, found));
  }

  /** Durable records, oldest first, with long content in place. Needs no lock. */
  async *readJournal(
    id: string,
    { user, ...options }: Scope & ReadOptions = {},
  ): AsyncGenerator<JournalRecord> {
    const { dir } = await this.run((home) => findSession(home, id, user));
    yield* readRecords(dir, options);
  }

  /** Like `readJournal`, and then whatever is appended, until the signal. */
  async *followJournal(id: string, options: Scope & FollowOptions): AsyncGenerator<JournalRecord> {
    const { dir } = await this.run((home) => findSession(home, id, options.user));
    yield* followRecords(dir, options);
  }

  /** The turns that ended: no call without its result. */
  async *readHistory(id: string, scope: Scope = {}): AsyncGenerator<HistoryTurn> {
    const { history } = await this.showSession(id, scope);
    yield* historyOf(this.readJournal(id, scope), { history });
  }

  search(words: readonly string[], options: SearchOptions = {}): Promise<SearchHit[]> {
    return this.run((home) => searchSessions(home, words, options));
  }

  /** The one session that is meant: by its id, its name, the beginning of its id, or `@`. */
  resolveSession(text: string, where: Whereabouts = {}): Promise<Meant> {
    return this.run((home) => resolveSession(home, text, where));
  }

  /** Every byte of its record and its artifacts, and its snapshots; with `deep`, every byte of these too. */
  auditSession(id: string, { user, deep = false }: Scope & Partial<DeepOptions> = {}): Promise<Audit> {
    return this.#tend(id, user, ({ auditSession }, home, found) => auditSession(home, found, { deep }));
  }

  repairSession(id: string, { user }: Scope = {}): Promise<Repair> {
    return this.#tend(id, user, ({ repairSession }, home, found) => repairSession(home, found));
  }

  /** Files of HOME with a secret in them are left out, and named; `withHome` takes all. */
  exportSession(id: string, to: string, { user, ...options }: Scope & ExportOptions = {}): Promise<Exported> {
    return this.#tend(id, user, ({ exportSession }, home, found) => exportSession(home, found, to, options));
  }

  importSession(file: string, options: ImportOptions = {}): Promise<string> {
    return this.run(async (home) => (await upkeep()).importSession(home, file, options));
  }

  /** What would go with a session, if it were removed; fails where it may not be. */
  planRemoval(id: string, { user, ...options }: Scope & RemovalOptions = {}): Promise<Removal> {
    return this.#tend(id, user, ({ planRemoval }, home, found) => planRemoval(home, found, options));
  }

  /** For good: nothing of it can be brought back. */
  removeSession(id: string, { user, ...options }: Scope & RemovalOptions = {}): Promise<Removal> {
    return this.#tend(id, user, ({ removeSession }, home, found) => removeSession(home, found, options));
  }

  /** Retention and gc leave it alone, until it is said otherwise. */
  keepSession(id: string, isKept = true, { user }: Scope = {}): Promise<void> {
    return this.run((home) => keepSession(home, id, isKept, user));
  }

  /** For the sessions of all users of the home. What the options do not set is taken from the user's settings. */
  gc(options: GcOptions = {}): Promise<GcResult> {
    return this.run(async (home) => (await upkeep()).collectGarbage(home, options));
  }

  /** What this machine gives, and every session, as `auditSession` looks at it. */
  examine({ deep = false }: Partial<DeepOptions> = {}): Promise<Finding[]> {
    return this.run(async (home) => (await upkeep()).examine(home, { deep }));
  }

  /** Upkeep of one session. */
  #tend<T>(id: string, user: string | undefined, work: Tending<T>): Promise<T> {
    return this.run(async (home) => work(await upkeep(), home, await findSession(home, id, user)));
  }
}
