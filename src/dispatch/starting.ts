/**
 * Owns the joining of the line to session processes: one whose place is granted gets its process.
 */
import type { Home } from "../home/index.ts";
import { startHost } from "../host/index.ts";
import { admitWaiting } from "../line/index.ts";
import { ownProgram } from "../process/index.ts";

/** Lets those begin for whom there is room. */
export const startWaiting = (home: Home) =>
  admitWaiting(home, (session, options) =>
    startHost(home, session, { ...options, dispatcher: ownProgram("dispatch") }),
  );
