/**
 * Owns asking for a place in the line, for one task.
 */
import { isHoldfastError, type TaskSpec } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { takePlace } from "../line/index.ts";
import type { Session } from "../session/index.ts";
import type { Work } from "./life.ts";
import type { SessionMail } from "./session-mail.ts";

/** Denied: the session waits in the line. Refused: the task can't begin, and that is on record. */
export async function askForPlace(
  home: Home,
  session: Session,
  mail: SessionMail,
  work: Work,
): Promise<"place_granted" | "place_denied" | "work_refused"> {
  const spec = work.kind === "cut" ? await mail.spec(work.request) : await specOrRefusal(session, mail, work);
  if (!spec) return "work_refused";
  // A task that was cut off is in no queue: it has the priority of the first task that waits after it.
  const { queue } = session.state;
  const queued = work.kind === "cut" ? queue[0] : queue.find(({ request }) => request === work.request);
  const { definition } = spec;
  const request = { session: session.id, definition, priority: queued?.priority ?? 0 };
  return (await takePlace(home, request)) ? "place_granted" : "place_denied";
}

async function specOrRefusal(
  session: Session,
  mail: SessionMail,
  { request }: Work,
): Promise<TaskSpec | undefined> {
  try {
    return await mail.spec(request);
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    await session.append("task_refused", { request, code: error.code, reason: error.message });
    return undefined;
  }
}
