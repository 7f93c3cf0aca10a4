/**
 * Owns watching a session: what happens in it, from its journal, its output and its place in the line, as one
 * stream. It needs the session process only to ring now and then, and looks by itself if no ring comes.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { JournalRecord } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { type Frame, type OutputStream, readFrames, readProgress, spoolPath } from "../host/index.ts";
import { JOURNAL_START, loadLongFields, type Position, probeOwner, readDurable } from "../journal/index.ts";
import { readPlace } from "../line/index.ts";
import type { Progress } from "../util/index.ts";
import { Ears } from "./ears.ts";
import { startWaiting } from "./starting.ts";

export type Happening =
  | { readonly kind: "output"; readonly stream: OutputStream; readonly chunk: Buffer }
  /** The session process is at this step of some long work; null: the work is over. */
  | { readonly kind: "progress"; readonly step: Progress | null }
  /** A host that was refused to the task. */
  | { readonly kind: "refused"; readonly host: string }
  | { readonly kind: "record"; readonly record: JournalRecord }
  /** The session waits in the line, for this reason. */
  | { readonly kind: "waits"; readonly reason: string }
  /** No process has the session any more. */
  | { readonly kind: "left" };

export interface FollowOptions {
  /** From this record on. */
  readonly fromSeq: number;
  /** The task whose output is wanted; null: the output of each task that begins. */
  readonly request: string | null;
  /** The task's output, if the caller has it open already. It is closed at the end. */
  readonly outputFd?: number;
  readonly signal: AbortSignal;
}

/**
 * If the session waits in the line, this also lets sessions of the line begin, because no other process may
 * be there to do it.
 */
const ADMIT_MS = 1000;
const CHUNK_BYTES = 1024 * 1024;

/** Ends by itself, with `left`, only when no process has the session and none will. */
export async function* followSession(
  home: Home,
  found: FoundSession,
  options: FollowOptions,
): AsyncGenerator<Happening> {
  const output = new OutputReader(found.dir, options.request, options.outputFd);
  const journal = new JournalReader(found.dir, options.fromSeq);
  const ears = new Ears(home, found);
  let waits = "";
  let admitAtMs = 0;
  try {
    while (!options.signal.aborted) {
      const isThere = isOwned(found.dir);
      // Records are read first: everything that was written before the end of a task is then found here, too.
      const records = await journal.read();
      for (const happening of inOrder(records, [...output.read()])) {
        if (happening.kind === "record" && options.request === null) output.turnTo(happening.record);
        yield happening;
      }
      const place = readPlace(home, found.id);
      const reason = place?.state === "waiting" ? (place.reason ?? "") : "";
      if (reason !== "" && reason !== waits) yield { kind: "waits", reason };
      waits = reason;
      if (!isThere && !place && records.length === 0) return yield { kind: "left" };
      if (!isThere && place && home.io.clock.monotonicMs() >= admitAtMs) {
        await startWaiting(home);
        admitAtMs = home.io.clock.monotonicMs() + ADMIT_MS;
      }
      if (records.length === 0 && !options.signal.aborted) await ears.next();
    }
  } finally {
    ears.close();
    output.close();
  }
}

/** Before these records, all output that the command has written is passed on. */
const ENDS: readonly string[] = [
  "process_ended",
  "tool_returned",
  "turn_ended",
  "artifact_written",
  "task_halted",
  "task_ended",
];

/** The output of set-up comes before the record of its task; the output of the command comes after it. */
function* inOrder(records: readonly JournalRecord[], frames: readonly Frame[]): Generator<Happening> {
  const isOfSetup = ({ stream }: Frame) => stream === "setup" || stream === "progress";
  const firstEnd = records.findIndex(({ type }) => ENDS.includes(type));
  const end = firstEnd < 0 ? records.length : firstEnd;
  const firstOutput = frames.findIndex((frame) => !isOfSetup(frame));
  const output = firstOutput < 0 ? frames.length : firstOutput;
  for (const frame of frames.slice(0, output)) yield happeningOf(frame);
  for (const record of records.slice(0, end)) yield { kind: "record", record };
  for (const frame of frames.slice(output)) yield happeningOf(frame);
  for (const record of records.slice(end)) yield { kind: "record", record };
}

function happeningOf({ stream, chunk }: Frame): Happening {
  if (stream === "progress") return { kind: "progress", step: readProgress(chunk) };
  if (stream === "refused") return { kind: "refused", host: chunk.toString("utf8") };
  return { kind: "output", stream, chunk };
}

function isOwned(sessionDir: string): boolean {
  return readProcessRecord(sessionDir) !== undefined || probeOwner(sessionDir).held;
}

class JournalReader {
  readonly #sessionDir: string;
  readonly #fromSeq: number;
  #position: Position = JOURNAL_START;

  constructor(sessionDir: string, fromSeq: number) {
    this.#sessionDir = sessionDir;
    this.#fromSeq = fromSeq;
  }

  async read(): Promise<JournalRecord[]> {
    const records: JournalRecord[] = [];
    for await (const { record, end } of readDurable(this.#sessionDir, { from: this.#position })) {
      this.#position = end;
      if (record.seq < this.#fromSeq) continue;
      records.push({ ...record, data: await loadLongFields(this.#sessionDir, record) });
    }
    return records;
  }
}

class OutputReader {
  readonly #sessionDir: string;
  #request: string | null;
  #fd: number | undefined;
  #position = 0;
  #rest = Buffer.alloc(0);

  constructor(sessionDir: string, request: string | null, fd: number | undefined) {
    this.#sessionDir = sessionDir;
    this.#request = request;
    this.#fd = fd;
  }

  /** Switches to the next task's output when that task begins. */
  turnTo({ type, data }: JournalRecord): void {
    if (type !== "task_started") return;
    this.close();
    this.#request = String(data["request"] ?? "");
    this.#fd = undefined;
    this.#position = 0;
    this.#rest = Buffer.alloc(0);
  }

  *read(): Generator<Frame> {
    this.#fd ??= this.#open();
    if (this.#fd === undefined) return;
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    // The output that a crash cut off is in the journal by now, and the file begins anew.
    if (fstatSync(this.#fd).size < this.#position) {
      this.#position = 0;
      this.#rest = Buffer.alloc(0);
    }
    for (;;) {
      const count = readSync(this.#fd, buffer, 0, buffer.length, this.#position);
      if (count === 0) return;
      this.#position += count;
      const bytes = Buffer.concat([this.#rest, buffer.subarray(0, count)]);
      const { frames, length } = readFrames(bytes);
      this.#rest = bytes.subarray(length);
      yield* frames;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }

  #open(): number | undefined {
    try {
      return this.#request === null ? undefined : openSync(spoolPath(this.#sessionDir, this.#request), "r");
    } catch {
      // Nothing has been written yet, or all of it is in the journal.
      return undefined;
    }
  }
}
