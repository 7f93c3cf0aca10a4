/**
 * Owns allowing a host to the task that a session is at: its process writes that down, and lets the task reach it until
 * it ends. The next task knows nothing of it.
 */
import { HoldfastError, parseHosts } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { drivenTask, inspectSession } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { put, ringSession, stamp } from "./post.ts";

/** To look into an inbox and write a record takes a moment; longer than this, something is wrong. */
const RECORD_MS = 10_000;

export interface Allowed {
  readonly task: number;
  readonly host: string;
}

/** Resolves when it is on record. */
export async function allowHost(home: Home, found: FoundSession, named: string): Promise<Allowed> {
  const [host = ""] = parseHosts([named]);
  const record = readProcessRecord(found.dir);
  const task = drivenTask((await inspectSession(found.dir)).state);
  if (!record || !task) throw notRunning(found);
  const allowed = { task: task.number, host };
  const asked = stamp(home, home.newId("ask"), `user:${found.user}`);
  await put(home, found.dir, { ...asked, kind: "allow_host", epoch: record.epoch, host });
  await ringSession(found.dir);
  const ears = new Ears(home, found);
  try {
    for (const patience = deadline(home.io.clock, RECORD_MS); !patience.isPast; await ears.next()) {
      const now = drivenTask((await inspectSession(found.dir)).state);
      if (now?.number !== task.number) throw notRunning(found);
      if (now.lane?.hosts.includes(host)) return allowed;
    }
  } finally {
    ears.close();
  }
  throw new HoldfastError("process_silent", `the process of session ${found.id} does not take it in`);
}

function notRunning({ id }: FoundSession): HoldfastError {
  return new HoldfastError(
    "not_running",
    `no task runs in session ${id}: a host is allowed to one that runs, and to the next one by run --host`,
    { session: id },
  );
}
