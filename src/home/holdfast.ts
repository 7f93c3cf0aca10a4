/**
 * Owns the library's face: `openHoldfast`, and what can be asked of a home. Each method is one line: what it
 * does stands in the file that owns it.
 */
import { typeid } from "typeid-js";
import { HoldfastError, type JournalRecord, parseIdPrefix } from "../contract/index.ts";
import type { JournalPorts, Redactor } from "../journal/index.ts";
import { redactSecrets } from "../memory/index.ts";
import {
  followRecords,
  type HistoryTurn,
  historyOf,
  readRecords,
  type Session,
  type SessionState,
} from "../session/index.ts";
import { type Clock, type Disk, realDisk, systemClock } from "../util/index.ts";
import { archiveSession } from "./archive.ts";
import { type Audit, auditSession } from "./audit.ts";
import { examine, type Finding } from "./doctor.ts";
import { type ExportManifest, exportSession } from "./export.ts";
import { collectGarbage, defaultRetention, type GcResult, type Retention } from "./gc.ts";
import {
  defaultHomeDir,
  defaultUser,
  findSession,
  type Home,
  inspectIn,
  notFound,
  prepareHome,
  sessionDirOf,
} from "./home.ts";
import { type ImportOptions, importSession } from "./import.ts";
import { type SearchHit, SessionIndex } from "./index-db.ts";
import {
  type ForkOptions,
  forkSession,
  type NewSession,
  openSession,
  type ResumeOptions,
  resumeSession,
  settleSession,
} from "./lifecycle.ts";
import { type Repair, repairSession } from "./repair.ts";
import { type SessionSummary, type ShownStatus, summarise } from "./status.ts";

export interface HoldfastOptions {
  /** Default: `HOLDFAST_HOME`, else `~/.holdfast`. */
  readonly home?: string;
  readonly clock?: Clock;
  readonly disk?: Disk;
  readonly newId?: (prefix: string) => string;
  readonly redact?: Redactor;
}

export interface SessionFilter {
  /** Default: the OS user's name. Null: of all users, for whoever looks after the home. */
  readonly user?: string | null;
  readonly status?: readonly ShownStatus[];
  readonly agent?: string;
  readonly repo?: string;
}

interface Scope {
  /** Default: the OS user's name. */
  readonly user?: string;
}

export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  const ports: JournalPorts = {
    disk: options.disk ?? realDisk,
    clock: options.clock ?? systemClock,
    redact: options.redact ?? redactSecrets,
  };
  const newId = options.newId ?? ((prefix) => typeid(prefix).toString());
  return new Holdfast(await prepareHome(options.home ?? defaultHomeDir(), ports, newId));
}

export class Holdfast {
  readonly #home: Home;

  constructor(home: Home) {
    this.#home = home;
  }

  get dir(): string {
    return this.#home.dir;
  }

  openSession(options: NewSession = {}): Promise<Session> {
    return openSession(this.#home, options);
  }

  resumeSession(id: string, options: ResumeOptions = {}): Promise<Session> {
    return resumeSession(this.#home, id, options);
  }

  forkSession(id: string, options: ForkOptions = {}): Promise<Session> {
    return forkSession(this.#home, id, options);
  }

  pauseSession(id: string, { user }: Scope = {}): Promise<SessionState> {
    return settleSession(this.#home, id, "session_paused", user);
  }

  closeSession(id: string, { user }: Scope = {}): Promise<SessionState> {
    return settleSession(this.#home, id, "session_closed", user);
  }

  async archiveSession(id: string, { user }: Scope = {}): Promise<void> {
    await archiveSession(this.#home, await findSession(this.#home, id, user));
  }

  /** Oldest first. */
  async listSessions(filter: SessionFilter = {}): Promise<SessionSummary[]> {
    const user = filter.user === undefined ? defaultUser() : filter.user;
    using index = SessionIndex.open(this.#home);
    const inspected = (await index.inspectAll()).filter(({ state }) => user === null || state.user === user);
    return inspected
      .map((one) => summarise(sessionDirOf(this.#home, one.state.id as `sess_${string}`), one))
      .filter(({ status }) => filter.status?.includes(status) ?? true)
      .filter(({ agent }) => filter.agent === undefined || agent === filter.agent)
      .filter(({ repo }) => filter.repo === undefined || repo === filter.repo);
  }

  async showSession(id: string, { user }: Scope = {}): Promise<SessionSummary> {
    const found = await findSession(this.#home, id, user);
    return summarise(found.dir, await inspectIn(this.#home, found.id));
  }

  /** Durable records, oldest first, with long content in place. Needs no lock. */
  async *readJournal(
    id: string,
    options: Scope & { readonly fromSeq?: number } = {},
  ): AsyncGenerator<JournalRecord> {
    const { dir } = await findSession(this.#home, id, options.user);
    yield* readRecords(dir, options.fromSeq === undefined ? {} : { fromSeq: options.fromSeq });
  }

  /** Like `readJournal`, and then whatever is appended, until the signal. */
  async *followJournal(
    id: string,
    options: Scope & { readonly fromSeq?: number; readonly signal: AbortSignal },
  ): AsyncGenerator<JournalRecord> {
    const { dir } = await findSession(this.#home, id, options.user);
    yield* followRecords(dir, options);
  }

  /** The turns that ended: no call without its result. */
  async *readHistory(id: string, scope: Scope = {}): AsyncGenerator<HistoryTurn> {
    yield* historyOf(this.readJournal(id, scope));
  }

  async search(
    words: readonly string[],
    options: Scope & { readonly limit?: number } = {},
  ): Promise<SearchHit[]> {
    if (words.every((word) => word.trim() === ""))
      throw new HoldfastError("usage", "search needs a word to look for");
    using index = SessionIndex.open(this.#home);
    return await index.search(words, options.user ?? defaultUser(), options.limit ?? 50);
  }

  /** The one session of the user whose id begins so. */
  async resolveId(prefix: string, { user }: Scope = {}): Promise<string> {
    const start = parseIdPrefix(prefix);
    const matches = (await this.listSessions({ ...(user !== undefined && { user }) })).filter(({ id }) =>
      id.startsWith(start),
    );
    const [first, second] = matches;
    if (!first) throw notFound(prefix);
    if (second)
      throw new HoldfastError(
        "ambiguous_id",
        `${matches.length} sessions begin with ${start}: ${first.id}, ${second.id}${matches.length > 2 ? ", …" : ""}`,
      );
    return first.id;
  }

  async auditSession(id: string, { user }: Scope = {}): Promise<Audit> {
    const { dir } = await findSession(this.#home, id, user);
    return auditSession(dir);
  }

  async repairSession(id: string, { user }: Scope = {}): Promise<Repair> {
    return repairSession(this.#home, await findSession(this.#home, id, user));
  }

  async exportSession(id: string, to: string, { user }: Scope = {}): Promise<ExportManifest> {
    return exportSession(this.#home, await findSession(this.#home, id, user), to);
  }

  importSession(file: string, options: ImportOptions = {}): Promise<string> {
    return importSession(this.#home, file, options);
  }

  gc(options: { readonly dryRun?: boolean; readonly retention?: Retention } = {}): Promise<GcResult> {
    return collectGarbage(this.#home, options.retention ?? defaultRetention, {
      dryRun: options.dryRun ?? false,
    });
  }

  examine(): Promise<Finding[]> {
    return examine(this.#home);
  }
}
