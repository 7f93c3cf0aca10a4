/**
 * Owns finding sessions: all sessions of a user, the sessions that contain some words, and the one that a
 * person named.
 */
import { HoldfastError, type SessionId } from "../contract/index.ts";
import { stateOfTask } from "../session/index.ts";
import { findSession, inspectIn } from "./finding.ts";
import { defaultUser, type Home, sessionDirOf } from "./home.ts";
import { inspectAll } from "./inspected-rows.ts";
import { type SessionSummary, summarise } from "./status.ts";
import { type SearchHit, searchTexts } from "./text-index.ts";

const DEFAULT_HITS = 50;
const MAX_HITS = 10_000;

export interface SessionFilter {
  /** Default: the OS user's name. Null: all users, for upkeep of the whole home. */
  readonly user?: string | null;
  readonly agent?: string;
  readonly repo?: string;
  /** Sessions that have all of these tags. */
  readonly tags?: readonly string[];
  /** Sessions whose metadata has all of these, with these texts. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Oldest first. */
export async function listSessions(home: Home, filter: SessionFilter): Promise<SessionSummary[]> {
  const user = filter.user === undefined ? defaultUser() : filter.user;
  const inspected = await inspectAll(home);
  return inspected
    .filter(({ state }) => user === null || state.user === user)
    .map((one) => summarise(sessionDirOf(home, one.state.id as SessionId), one))
    .filter(({ agent }) => filter.agent === undefined || agent === filter.agent)
    .filter(({ repo }) => filter.repo === undefined || repo === filter.repo)
    .filter(({ tags }) => filter.tags?.every((tag) => tags.includes(tag)) ?? true)
    .filter(({ metadata }) => hasAll(metadata, filter.metadata ?? {}));
}

const hasAll = (there: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>) =>
  Object.entries(wanted).every(([name, text]) => Object.hasOwn(there, name) && there[name] === text);

export interface ShowOptions {
  /** Default: the OS user's name. */
  readonly user?: string;
  /** Report the state of this task, as it ended, and not of the latest one. */
  readonly task?: number;
}

export async function showSession(
  home: Home,
  idText: string,
  { user, task }: ShowOptions,
): Promise<SessionSummary> {
  const found = await findSession(home, idText, user);
  const shown = summarise(found.dir, await inspectIn(home, found.id));
  return task === undefined ? shown : { ...shown, task: (await stateOfTask(found, task)).task };
}

export interface SearchOptions {
  readonly user?: string;
  /** The maximum number of hits; default 50. */
  readonly limit?: number;
}

export async function searchSessions(
  home: Home,
  words: readonly string[],
  options: SearchOptions,
): Promise<SearchHit[]> {
  if (words.every((word) => word.trim() === ""))
    throw new HoldfastError("usage", "no search words were given: name at least one word");
  const limit = options.limit ?? DEFAULT_HITS;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_HITS) {
    throw new HoldfastError("invalid_data", `limit: must be a whole number from 1 to ${MAX_HITS}`, {
      field: "limit",
    });
  }
  return searchTexts(home, words, { user: options.user ?? defaultUser(), limit });
}
