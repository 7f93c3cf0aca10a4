/**
 * Owns a session as it is shown, in every place that shows one.
 */
import { parseSessionId } from "../contract/index.ts";
import { type Home, type SessionSummary, sessionDirOf } from "../home/index.ts";
import { readRefusals } from "../host/index.ts";
import { readPlace } from "../line/index.ts";
import { idOf } from "../mail/index.ts";
import { inboxOf } from "./post.ts";
import { type Stand, standOf } from "./standing.ts";

export interface SessionView extends SessionSummary, Stand {
  /** Why it waits in the line, if it does. */
  readonly waits: string | null;
  /** What lies in its inbox and was not taken in. */
  readonly inbox: number;
  /** Requests at its door that had not its token. */
  readonly refused: number;
}

export async function viewOf(home: Home, summary: SessionSummary): Promise<SessionView> {
  const id = parseSessionId(summary.id);
  const place = readPlace(home, id);
  const dir = sessionDirOf(home, id);
  const lying = await inboxOf(home, dir).waiting();
  // Whether it was taken in makes no difference to those who wait for an answer.
  const unread = summary.unread + lying.filter((name) => idOf(name).startsWith("msg_")).length;
  const waits = place?.state === "waiting" ? (place.reason ?? "it is about to begin") : null;
  const stand = standOf({ ...summary, waits });
  return { ...summary, ...stand, unread, waits, inbox: lying.length, refused: readRefusals(dir) };
}
