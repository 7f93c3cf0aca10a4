/**
 * Owns `tasks/<n>/actions/` of a session: for each action, which process is its worker, and its outcome. So
 * the process that continues the session after a crash knows what really happened.
 *
 * worker-2 An outcome is on disk before it is reported, and only the one worker that began the action writes
 *    it.
 * worker-3 A worker is recorded before it gets its order; a worker that is not recorded does nothing.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { wasSpent } from "../approval/index.ts";
import { isUnasked, type JsonObject } from "../contract/index.ts";
import type { ToolOutcome } from "../lane/index.ts";
import { WORKER_SUFFIX } from "../task/index.ts";
import {
  actionsDir,
  createFile,
  errorCode,
  identityOf,
  openSealedJson,
  readPlainFile,
  readProcessFile,
  realDisk,
  replaceFile,
  sealJson,
} from "../util/index.ts";
import { isActionId } from "./order.ts";

/** `ended`: done, with the outcome that the agent is told. */
export type ActionState =
  | { readonly kind: "ended"; readonly outcome: ToolOutcome }
  /** Its worker is running. */
  | { readonly kind: "running" }
  /** It was begun, and nothing shows how it ended: only a person can find out. `text`: what it had said. */
  | { readonly kind: "unknown"; readonly text?: string }
  /** Nothing has happened. */
  | { readonly kind: "not_begun" };

const MAX_OUTCOME_BYTES = 16 * 1024 * 1024;

/** `approval`: or the id of an action that needed none. */
export function outcomeOf(sessionDir: string, task: number, approval: string): ActionState {
  if (!isActionId(approval)) return { kind: "not_begun" };
  // The worker is looked up first: if it ends just then, everything that it leaves is already there.
  const isRunning = hasWorkerOf(sessionDir, task, approval);
  const outcome = readOutcome(sessionDir, task, approval);
  if (outcome?.facts?.["isUnknown"] === true) return { kind: "unknown", text: outcome.text };
  if (outcome) return { kind: "ended", outcome };
  if (isRunning) return { kind: "running" };
  return { kind: hasBegun(sessionDir, task, approval) ? "unknown" : "not_begun" };
}

/** If several workers got the same action, only one acts. */
function hasWorkerOf(sessionDir: string, task: number, id: string): boolean {
  const dir = actionsDir(sessionDir, task);
  const names = existsSync(dir) ? readdirSync(dir) : [];
  const isOf = (name: string) => name.startsWith(`${id}.`) && name.endsWith(WORKER_SUFFIX);
  return names.some((name) => isOf(name) && readProcessFile(join(dir, name)) !== undefined);
}

function hasBegun(sessionDir: string, task: number, id: string): boolean {
  if (existsSync(pathOf(sessionDir, task, id, ".begun"))) return true;
  // The home of this session's directory.
  return !isUnasked(id) && wasSpent(dirname(dirname(sessionDir)), id);
}

/** For an action that needs no grant. False: it was already begun. */
export async function beginUnasked(sessionDir: string, task: number, id: string): Promise<boolean> {
  const path = pathOf(sessionDir, task, id, ".begun");
  makeDir(sessionDir, task);
  try {
    await createFile(realDisk, path, new Uint8Array());
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
  await realDisk.syncDir(dirname(path));
  return true;
}

/** worker-2 */
export async function writeOutcome(
  sessionDir: string,
  task: number,
  id: string,
  { outcome, text, facts }: ToolOutcome,
): Promise<void> {
  makeDir(sessionDir, task);
  const bytes = sealJson({ version: 1, outcome, text, ...(facts && { facts }) });
  await replaceFile(realDisk, pathOf(sessionDir, task, id, ".json"), bytes);
}

/**
 * worker-3: the process that starts the worker calls it. The returned function removes the file after the
 * worker's end.
 */
export async function writeWorker(
  sessionDir: string,
  task: number,
  id: string,
  pid: number,
): Promise<() => void> {
  makeDir(sessionDir, task);
  const path = pathOf(sessionDir, task, id, `.${pid}${WORKER_SUFFIX}`);
  await replaceFile(realDisk, path, Buffer.from(`${JSON.stringify(identityOf(pid))}\n`));
  return () => rmSync(path, { force: true });
}

function readOutcome(sessionDir: string, task: number, id: string): ToolOutcome | undefined {
  const bytes = readPlainFile(pathOf(sessionDir, task, id, ".json"), { maxBytes: MAX_OUTCOME_BYTES });
  const { outcome, text, facts } = (bytes && openSealedJson(bytes)) ?? {};
  if (outcome !== "ok" && outcome !== "error" && outcome !== "refused") return undefined;
  return { outcome, text: String(text), ...(facts !== undefined && { facts: facts as JsonObject }) };
}

const pathOf = (sessionDir: string, task: number, id: string, suffix: string) =>
  join(actionsDir(sessionDir, task), `${id}${suffix}`);

function makeDir(sessionDir: string, task: number): void {
  mkdirSync(actionsDir(sessionDir, task), { recursive: true, mode: 0o700 });
}
