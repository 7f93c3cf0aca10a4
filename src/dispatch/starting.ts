/**
 * Owns the connection of the line and session processes: a session whose place is granted gets its process.
 */
import { existsSync } from "node:fs";
import type { SessionId } from "../contract/index.ts";
import { type Home, sessionDirOf } from "../home/index.ts";
import { dropSpare, type StartedProcess, startHost } from "../host/index.ts";
import { admitWaiting } from "../line/index.ts";
import { ownProgram } from "../process/index.ts";

/**
 * Starts the processes for which there is room. Resolves to the one of the wanted session, if it was started
 * here; the session may be opened after that. The others are not listened to: their submitters learn of them
 * from their files and bells.
 */
export async function startWaiting(home: Home, wanted?: SessionId): Promise<StartedProcess | undefined> {
  let found: StartedProcess | undefined;
  await admitWaiting(
    home,
    async (session, options) => {
      const isUnopened = !existsSync(sessionDirOf(home, session));
      const started = await startHost(home, session, {
        ...options,
        dispatcher: ownProgram("dispatch"),
        ...(isUnopened && { isUnopened }),
      });
      if (session === wanted) found = started;
      else started.close();
      return started.pid;
    },
    wanted,
  );
  // A session that waits in the line gets its process later, perhaps from another caller.
  await dropSpare();
  return found;
}
