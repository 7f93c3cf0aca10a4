/**
 * Owns asking for a shell in the files of a running task: the session process opens it, and tells where.
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
    // The record that the shell is open and the record that the turn has ended are both news.
    for (const patience = deadline(home.io.clock, OPEN_MS); !patience.isPast; await ears.next()) {
      if (existsSync(path)) return path;
      if (!(await inspectSession(found.dir)).state.openTurn) throw notRunning(label);
    }
  } finally {
    ears.close();
  }
  throw new HoldfastError("process_silent", `the process of ${label} did not open a shell`);
}

function notRunning(label: string): HoldfastError {
  return new HoldfastError(
    "not_running",
    `no command runs in ${label}, so there is no live capsule for a shell: holdfast run -i --session ${label} -- sh runs a shell as a task, and holdfast open ${label} opens its files`,
  );
}
