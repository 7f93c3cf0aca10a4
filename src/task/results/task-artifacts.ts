/**
 * Owns the artifacts that a task writes when its results are saved: `checks.json`, `trace.json`, `summary.md`
 * and `result.json`, beside its patch. They are made from what was published and from the records of the task
 * alone, which are read once for all of them.
 *
 * What a kill leaves: some of them, and no `task_ended`. All are then made again, with the same content.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DiffStat } from "../../capsule/index.ts";
import type { Redactor } from "../../journal/index.ts";
import { artifactsDir, createFile, tellStep } from "../../util/index.ts";
import type { TaskInHand } from "../in-hand.ts";
import { CHECKS_FILE, checksText } from "../verify/checks-file.ts";
import { FoundReceipts, type TaskReceipts } from "../verify/receipts.ts";
import { writeArtifact } from "./artifact.ts";
import type { Unpublished } from "./publishing.ts";
import { TaskSummary } from "./summary.ts";
import { recordsOfTask } from "./task-records.ts";
import { TaskTrace } from "./trace.ts";

export const TRACE_FILE = "trace.json";
const SUMMARY_FILE = "summary.md";
const RESULT_FILE = "result.json";
/** The keys of other artifacts in the task's result. */
const OTHERS = { diff: "change.patch", checks: CHECKS_FILE } as const;

/** At most this many paths are named; all are counted. */
const MAX_PATHS = 200;

/** How the task ends, and what happened to its work. */
export interface ArtifactFacts {
  readonly outcome: string;
  readonly stat: DiffStat;
  /** The branch that has its work; null when no branch has it. */
  readonly branch: string | null;
  readonly unpublished: Unpublished | null;
  /** The tree that there is a verdict on; null when there is none. */
  readonly verified: string | null;
}

export async function writeTaskArtifacts(
  { room, number }: Pick<TaskInHand, "room" | "number">,
  { outcome, stat, branch, unpublished, verified }: ArtifactFacts,
): Promise<void> {
  const { session, sessionDir, io } = room;
  tellStep(io.onProgress, "writing the summary");
  const { task } = session.state;
  const { asked = null, lane = null, isSandboxed = true, request = null } = task ?? {};
  const trace = new TaskTrace(session.id, number);
  const summary = new TaskSummary();
  const receipts = new FoundReceipts(number);
  // Includes the records that this process appended last.
  await session.settled();
  const from = session.beginOf({ number, request });
  for await (const record of recordsOfTask(sessionDir, { number, request, from })) {
    trace.add(record);
    summary.add(record);
    receipts.add(record);
  }
  // Everything else in them comes from the journal, which is already redacted.
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
  const write = (name: string, text: string) =>
    writeArtifact({ session, sessionDir, disk: io.disk }, { task: number, name }, async (path) => {
      await createFile(io.disk, path, Buffer.from(text));
      return {};
    });
  if (verified !== null && hasChecks(receipts.all))
    await write(CHECKS_FILE, checksText(receipts.all, { task: number, tree: verified }));
  const dir = artifactsDir(sessionDir, number);
  const others = Object.entries(OTHERS).filter(([, name]) => existsSync(join(dir, name)));
  const result = {
    task_id: `task-${number}`,
    session_id: session.id,
    result: outcome,
    artifacts: { ...Object.fromEntries(others), trace: TRACE_FILE, summary: SUMMARY_FILE },
    persist: { working_summary: true, durable_memory: false, approval_token_reusable: false },
  };
  await Promise.all([
    write(TRACE_FILE, trace.json({ outcome, changed, lane: lane?.name ?? null, isSandboxed })),
    write(SUMMARY_FILE, told.text),
    write(RESULT_FILE, `${JSON.stringify(result, null, 2)}\n`),
    session.append("summary_written", { task: number, summary: told.text, tokens: told.tokens }),
  ]);
}

/** Checks that were all left out, because nothing changed that they cover, are checks too. */
function hasChecks({ verification }: TaskReceipts): boolean {
  const { verdict, skipped } = verification ?? {};
  return verdict !== "unverified" || (Array.isArray(skipped) && skipped.length > 0);
}

/** The agent chose these file names, so they are redacted. */
async function namedPaths(redact: Redactor, { paths }: DiffStat): Promise<string[]> {
  const [redaction] = await redact([{ paths: paths.slice(0, MAX_PATHS) }]);
  const named = redaction?.data["paths"];
  return Array.isArray(named) ? named.map(String) : [];
}
