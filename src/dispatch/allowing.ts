/**
 * Owns allowing a host for the task that runs in a session: the session process records the host, and lets
 * the task reach it until the task ends. The next task does not get it.
 */
import { HoldfastError, parseHosts } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { drivenTask, inspectSession } from "../session/index.ts";
import { deadline } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { put, ringSession, stamp } from "./post.ts";

/**
 * The session process looks into its inbox and writes a record in a moment. If it takes longer than this,
 * something is wrong.
 */
const RECORD_MS = 10_000;

export interface Allowed {
  readonly task: number;
  readonly host: string;
}

/** Resolves when the record is on disk. */
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
  throw new HoldfastError(
    "process_silent",
    `the process of session ${found.id} did not confirm the request to allow a host`,
  );
}

function notRunning({ id }: FoundSession): HoldfastError {
  return new HoldfastError(
    "not_running",
    `no task runs in session ${id}: holdfast allow is for a running task; for the next task, use run --host`,
    { session: id },
  );
}
