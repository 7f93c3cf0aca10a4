/**
 * Owns the view of a session that is shown wherever a session is shown.
 */
import { parseSessionId } from "../contract/index.ts";
import { type Home, type SessionFilter, type SessionSummary, sessionDirOf } from "../home/index.ts";
import { readRefusals } from "../host/index.ts";
import { readPlace } from "../line/index.ts";
import { idOf } from "../mail/index.ts";
import { inboxOf } from "./post.ts";
import { type Stand, type Standing, standOf } from "./standing.ts";

export interface SessionView extends SessionSummary, Stand {
  /** Why it waits in the line, if it does. */
  readonly waits: string | null;
  /** The envelopes in its inbox that were not taken in. */
  readonly inbox: number;
  /** Requests at its door that did not have its token. */
  readonly refused: number;
}

export interface ListFilter extends SessionFilter {
  /** Sessions that stand in one of these ways. */
  readonly standing?: readonly Standing[];
}

export async function viewsOf(
  home: Home,
  summaries: readonly SessionSummary[],
  standing: ListFilter["standing"],
): Promise<SessionView[]> {
  const views = await Promise.all(summaries.map((one) => viewOf(home, one)));
  return views.filter((one) => standing?.includes(one.standing) ?? true);
}

export async function viewOf(home: Home, summary: SessionSummary): Promise<SessionView> {
  const id = parseSessionId(summary.id);
  const place = readPlace(home, id);
  const dir = sessionDirOf(home, id);
  const lying = await inboxOf(home, dir).waiting();
  // A message in the inbox counts as unread, too: a person who waits for an answer does not care whether it
  // was taken in.
  const unread = summary.unread + lying.filter((name) => idOf(name).startsWith("msg_")).length;
  const waits = place?.state === "waiting" ? (place.reason ?? "it is about to begin") : null;
  const stand = standOf({ ...summary, waits });
  return { ...summary, ...stand, unread, waits, inbox: lying.length, refused: readRefusals(dir) };
}
