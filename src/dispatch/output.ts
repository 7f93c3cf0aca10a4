/**
 * Owns reading what a task wrote. For a turn that is over, it is what was kept. For an open turn, it is what
 * was written so far. If neither exists, it is the excerpt in the journal, and the result says so.
 */
import { closeSync, createReadStream, existsSync, openSync } from "node:fs";
import { HoldfastError, type JournalRecord } from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { isOfCommand, readFramesOf, spoolPath } from "../host/index.ts";
import { loadLongFields, readDurable } from "../journal/index.ts";
import { inspectSession, textIn } from "../session/index.ts";
import { isOutputOf, outputPath } from "../task/index.ts";
import { errorCode, present } from "../util/index.ts";
import { type FollowOptions, followSession } from "./following.ts";

export type OutputPart =
  /** Without `stream`: both, in the order in which they came. */
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr" | null; readonly chunk: Buffer }
  /**
   * `cut`: the limit was reached. `excerpt`: what follows is the beginning and the end. `goes_on`: the task
   * is not over.
   */
  | { readonly kind: "note"; readonly about: "cut" | "excerpt" | "goes_on" };

export interface OutputOptions {
  readonly task: number;
  /** Goes on until the task is over. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export async function* readOutput(
  home: Home,
  found: FoundSession,
  { task, follow = false, signal = new AbortController().signal }: OutputOptions,
): AsyncGenerator<OutputPart> {
  const { state } = await inspectSession(found.dir);
  const request = state.task?.number === task ? state.task.request : null;
  // Opened before the journal is read: the file is removed only when the journal says that all of it is kept.
  let fd = request === null ? undefined : openIfThere(spoolPath(found.dir, request));
  try {
    const outline = await outlineOf(found, task);
    const covered = yield* readKept(found.dir, task, outline);
    const isNew = outline.lastTurn > covered || outline.lastTurn === 0;
    if (follow && !outline.isOver && request !== null) {
      const following = { request, fromSeq: outline.seq + 1, signal, ...present({ outputFd: fd }) };
      // It is closed where it is followed.
      fd = undefined;
      yield* followOutput(home, found, following, isNew);
      return;
    }
    let hasSpooled = false;
    for (const { stream, chunk } of fd !== undefined && isNew ? readFramesOf(fd) : []) {
      if (!isOfCommand(stream)) continue;
      hasSpooled = true;
      yield { kind: "output", stream, chunk };
    }
    if (!hasSpooled) yield* readExcerpts(found.dir, outline, covered);
    if (!outline.isOver) yield { kind: "note", about: "goes_on" };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** What the journal has on one task. */
interface Outline {
  readonly kept: { readonly bytes: number; readonly turn: number; readonly isCut: boolean } | undefined;
  readonly lastTurn: number;
  /** What the journal has on the task's calls. */
  readonly results: readonly JournalRecord[];
  readonly isOver: boolean;
  readonly seq: number;
}

async function outlineOf({ id, dir }: FoundSession, task: number): Promise<Outline> {
  let current = 0;
  let seq = 0;
  let outline: Omit<Outline, "seq"> | undefined;
  for await (const { record } of readDurable(dir)) {
    const { type, data } = record;
    seq = record.seq;
    if (type === "task_started") current = Number(data["task"]);
    if (type === "task_started" && current === task)
      outline = {
        kept: undefined,
        lastTurn: 0,
        results: [],
        isOver: false,
      };
    // A fork does not inherit its parent's files, and neither the output of its tasks.
    if (type === "session_forked" && outline) outline = { ...outline, kept: undefined, isOver: true };
    if (!outline || (current !== task && type !== "artifact_written")) continue;
    if (type === "turn_started") outline = { ...outline, lastTurn: Number(data["turn"]) };
    if (type === "tool_returned") outline = { ...outline, results: [...outline.results, record] };
    if (type === "task_ended" || type === "task_halted") outline = { ...outline, isOver: true };
    if (isOutputOf(task, type, data))
      outline = {
        ...outline,
        kept: { bytes: Number(data["bytes"]), turn: Number(data["turn"]), isCut: data["isCut"] === true },
      };
  }
  if (!outline) throw noTask(id, task, current);
  return { ...outline, seq };
}

export function noTask(session: string, task: number, last: number): HoldfastError {
  const there = last === 0 ? "none" : last === 1 ? "only task 1" : `tasks 1 to ${last}`;
  return new HoldfastError("no_task", `session ${session} has no task ${task}: it has ${there}`, {
    task,
    last,
  });
}

/** Up to which turn it is kept. */
async function* readKept(dir: string, task: number, { kept }: Outline): AsyncGenerator<OutputPart, number> {
  const path = outputPath(dir, task);
  if (!kept || !existsSync(path)) return 0;
  if (kept.bytes === 0) return kept.turn;
  const chunks = createReadStream(path, { end: kept.bytes - 1 }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) yield { kind: "output", stream: null, chunk };
  if (kept.isCut) yield { kind: "note", about: "cut" };
  return kept.turn;
}

async function* readExcerpts(dir: string, { results }: Outline, covered: number): AsyncGenerator<OutputPart> {
  let isSaid = false;
  for (const record of results) {
    if (Number(record.data["turn"]) <= covered) continue;
    const text = outputIn((await loadLongFields(dir, record))["output"]);
    if (text === "") continue;
    if (!isSaid) yield { kind: "note", about: "excerpt" };
    isSaid = true;
    yield { kind: "output", stream: null, chunk: Buffer.from(text) };
  }
}

/** Of a command that ended, or of one that a crash cut off. */
function outputIn(result: JournalRecord["data"][string] | undefined): string {
  if (typeof result === "object" && result !== null && !Array.isArray(result))
    return textIn(result["output"]);
  return textIn(result);
}

async function* followOutput(
  home: Home,
  found: FoundSession,
  options: FollowOptions,
  isNew: boolean,
): AsyncGenerator<OutputPart> {
  // The output of a turn that was kept has been shown; what the next turn writes has not.
  let isWanted = isNew;
  for await (const happening of followSession(home, found, options)) {
    if (happening.kind === "output" && isOfCommand(happening.stream) && isWanted)
      yield { kind: "output", stream: happening.stream, chunk: happening.chunk };
    if (happening.kind !== "record") continue;
    isWanted ||= happening.record.type === "turn_started";
    if (ENDS.has(happening.record.type)) return;
  }
}

const ENDS: ReadonlySet<string> = new Set(["task_ended", "task_halted"]);

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return undefined;
  }
}
