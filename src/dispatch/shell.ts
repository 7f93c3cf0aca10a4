/**
 * Owns the asking for a shell in the files of a task that runs: the session process opens it, and says where.
 */
import { existsSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { shellSocket } from "../host/index.ts";
import { inspectSession } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { put, ringSession, stamp } from "./post.ts";

const OPEN_MS = 20_000;

/** The socket of its terminal. */
export async function askForShell(
  home: Home,
  found: FoundSession,
  command: readonly string[],
): Promise<string> {
  const record = readProcessRecord(found.dir);
  const { state } = await inspectSession(found.dir);
  const label = state.name ?? found.id;
  if (!record || record.bell === null || !state.openTurn) throw notRunning(label);
  const id = home.newId("ask");
  const { epoch, bell } = record;
  const asked = stamp(home, id, `user:${found.user}`);
  await put(home, found.dir, { ...asked, kind: "shell", epoch, command: [...command] });
  await ringSession(found.dir);
  const path = shellSocket(bell, id);
  const ears = new Ears(home, found);
  try {
    // That it is open is on record, and so is the end of the turn: both are news.
    for (const patience = deadline(home.io.clock, OPEN_MS); !patience.isPast; await ears.next()) {
      if (existsSync(path)) return path;
      if (!(await inspectSession(found.dir)).state.openTurn) throw notRunning(label);
    }
  } finally {
    ears.close();
  }
  throw new HoldfastError("process_silent", `the process of ${label} opens no shell`);
}

function notRunning(label: string): HoldfastError {
  return new HoldfastError(
    "not_running",
    `no command runs in ${label}, so there is no live capsule: holdfast run -i --session ${label} -- sh makes it a task, holdfast open ${label} shows its files`,
  );
}
