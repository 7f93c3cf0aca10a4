/**
 * Owns which session a person means: by its id, its name, the beginning of its id, or `@` for the latest
 * session here. "Here" is the repo that the person is in; its sessions come first.
 */
import { resolve } from "node:path";
import { openRepo } from "../capsule/index.ts";
import {
  HoldfastError,
  isHoldfastError,
  isSessionId,
  isSessionName,
  parseIdPrefix,
} from "../contract/index.ts";
import { findSession, inspectIn, notFound } from "./finding.ts";
import type { Home } from "./home.ts";
import { listSessions } from "./list.ts";
import type { SessionSummary } from "./status.ts";

/** The latest session of the repo that the person is in. */
export const LAST_HERE = "@";

export interface Meant {
  readonly id: string;
  readonly name: string | null;
}

export interface Whereabouts {
  /** Default: the OS user's name. Null: all users. */
  readonly user?: string | null;
  /** The directory that the person is in. Without it, no repo comes first, and `@` finds no session. */
  readonly here?: string;
}

export async function resolveSession(home: Home, text: string, where: Whereabouts = {}): Promise<Meant> {
  const { user } = where;
  // A complete id needs no list.
  if (isSessionId(text) && user !== null) {
    const { id } = await findSession(home, text, user);
    return { id, name: (await inspectIn(home, id)).state.name };
  }
  const sessions = await listSessions(home, user === undefined ? {} : { user });
  const { id, name } =
    text === LAST_HERE ? await lastHere(home, sessions, where) : await called(home, sessions, text, where);
  return { id, name };
}

async function lastHere(
  home: Home,
  sessions: readonly SessionSummary[],
  { here }: Whereabouts,
): Promise<SessionSummary> {
  const repo = await repoAt(home, here);
  const [last] = sessions
    .filter((session) => session.repo === repo)
    .sort((a, b) => b.updatedAt.localeCompare(a.updatedAt) || b.id.localeCompare(a.id));
  if (last) return last;
  const place =
    repo === null ? "this directory is in no repo, and all sessions have a repo" : `${repo} has no session`;
  throw new HoldfastError("session_not_found", `${LAST_HERE}: ${place}`);
}

async function called(
  home: Home,
  sessions: readonly SessionSummary[],
  text: string,
  { here }: Whereabouts,
): Promise<SessionSummary> {
  const named = isSessionName(text) ? sessions.filter(({ name }) => name === text) : [];
  if (named.length > 1) {
    const repo = await repoAt(home, here);
    // Sessions of other repos count only when this one has none of that name.
    const ofRepo = named.filter((session) => session.repo === repo);
    return theOne(text, ofRepo.length > 0 ? ofRepo : named, "are called");
  }
  if (named[0]) return named[0];
  // No id begins with a letter, so a text that can be a name is not the beginning of an id.
  if (isSessionName(text)) throw notFound(text);
  const start = parseIdPrefix(text);
  return theOne(
    text,
    sessions.filter(({ id }) => id.startsWith(start)),
    "begin with",
  );
}

function theOne(text: string, matches: readonly SessionSummary[], how: string): SessionSummary {
  const [first, second] = matches;
  if (!first) throw notFound(text);
  if (!second) return first;
  const told = matches.slice(0, 2).map(({ id, repo }) => `${id} (${repo ?? "no repo"})`);
  const more = matches.length > 2 ? ", …" : "";
  throw new HoldfastError(
    "ambiguous_id",
    `${matches.length} sessions ${how} ${text}: ${told.join(", ")}${more}`,
  );
}

/** The repo's path as sessions refer to it; null when there is none. */
async function repoAt(home: Home, here: string | undefined): Promise<string | null> {
  if (here === undefined) return null;
  try {
    const { checkout, gitDir } = await openRepo(home, resolve(here));
    return checkout ?? gitDir;
  } catch (error) {
    if (isHoldfastError(error)) return null;
    throw error;
  }
}
