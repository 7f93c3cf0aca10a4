/**
 * Owns what a task tells of itself when its work is kept: `trace.json`, `summary.md` and `result.json`, beside its patch
 * and the receipts of its checks. They are made from the journal and from what was published.
 *
 * What a kill leaves: some of them, and no `task_ended`. All are made again then, the same.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DiffStat } from "../../capsule/index.ts";
import type { Redactor } from "../../journal/index.ts";
import { artifactsDir, createFile, tellStep } from "../../util/index.ts";
import type { TaskInHand } from "../in-hand.ts";
import { writeArtifact } from "./artifact.ts";
import type { Unpublished } from "./publishing.ts";
import { TaskSummary } from "./summary.ts";
import { recordsOfTask } from "./task-records.ts";
import { TaskTrace } from "./trace.ts";

export const TRACE_FILE = "trace.json";
const SUMMARY_FILE = "summary.md";
const RESULT_FILE = "result.json";
/** What others of the task's artifacts are called in its result. */
const OTHERS = { diff: "change.patch", checks: "checks.json" } as const;

/** So many are named; all are counted. */
const MAX_PATHS = 200;

/** How it ends, and what became of its work. */
export interface Reported {
  readonly outcome: string;
  readonly stat: DiffStat;
  /** The branch that its work is on; null: on none. */
  readonly branch: string | null;
  readonly unpublished: Unpublished | null;
}

export async function writeReports(
  { room, number }: Pick<TaskInHand, "room" | "number">,
  { outcome, stat, branch, unpublished }: Reported,
): Promise<void> {
  const { session, sessionDir, io } = room;
  tellStep(io.onProgress, "writing the summary");
  const { task } = session.state;
  const { asked = null, lane = null, isSandboxed = true, request = null } = task ?? {};
  const trace = new TaskTrace(session.id, number);
  const summary = new TaskSummary();
  // What this process appended last is in it, too.
  await session.settled();
  for await (const record of recordsOfTask(sessionDir, { number, request })) {
    trace.add(record);
    summary.add(record);
  }
  // The rest of what stands in them is from the journal, and has been through this.
  const changed = { ...stat, paths: await namedPaths(session.redact, stat) };
  const told = summary.summary({
    task: number,
    outcome,
    branch,
    unpublished: unpublished?.code ?? null,
    asked,
    changed,
    lane,
    isSandboxed,
    tree: task?.snapshot?.tree ?? null,
  });
  const dir = artifactsDir(sessionDir, number);
  const others = Object.entries(OTHERS).filter(([, name]) => existsSync(join(dir, name)));
  const result = {
    task_id: `task-${number}`,
    session_id: session.id,
    result: outcome,
    artifacts: { ...Object.fromEntries(others), trace: TRACE_FILE, summary: SUMMARY_FILE },
    persist: { working_summary: true, durable_memory: false, approval_token_reusable: false },
  };
  const write = (name: string, text: string) =>
    writeArtifact({ session, sessionDir, disk: io.disk }, { task: number, name }, async (path) => {
      await createFile(io.disk, path, Buffer.from(text));
      return {};
    });
  await Promise.all([
    write(TRACE_FILE, trace.json({ outcome, changed, lane: lane?.name ?? null, isSandboxed })),
    write(SUMMARY_FILE, told.text),
    write(RESULT_FILE, `${JSON.stringify(result, null, 2)}\n`),
    session.append("summary_written", { task: number, summary: told.text, tokens: told.tokens }),
  ]);
}

/** The agent chose these names. */
async function namedPaths(redact: Redactor, { paths }: DiffStat): Promise<string[]> {
  const [redaction] = await redact([{ paths: paths.slice(0, MAX_PATHS) }]);
  const named = redaction?.data["paths"];
  return Array.isArray(named) ? named.map(String) : [];
}
