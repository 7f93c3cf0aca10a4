/**
 * Owns the trace of a task: its records as spans for session, task, stage, turn, tool, model request and
 * check, named by OpenTelemetry's `gen_ai` conventions. It has names, sizes and outcomes, but no content of
 * messages or files.
 *
 * trace-1 Ids come from the journal: the trace's from session and task, a span's from the hash of the record
 *    that begins it. So the same records give the same trace, and a trace that is made again after a kill has
 *    the same ids.
 * trace-2 It has at most 10,000 spans, and reports how many it left out.
 */
import { createHash } from "node:crypto";
import type { JournalRecord } from "../../contract/index.ts";
import { amountIn, textIn } from "../../session/index.ts";
import { type Attributes, otlpTrace, type Span } from "./otlp.ts";
import {
  checkSpan,
  receiptOf,
  requestSpan,
  type Said,
  sizeOf,
  stageSpan,
  toolSpan,
  turnSpan,
  usageOf,
} from "./trace-spans.ts";

export const MAX_SPANS = 10_000;
/** Reserved for turns, stages and checks, so that many tools and requests do not displace later ones. */
const RESERVED_SPANS = 2_000;
/** Each of these records begins a span, and there can be many. */
const LEAVES: ReadonlySet<string> = new Set(["tool_called", "usage_metered"]);

/** Facts about a task that its records don't have. */
export interface TraceFacts {
  readonly outcome: string;
  /** The paths of some of the files that it changed, and the number of all. */
  readonly changed: { readonly paths: readonly string[]; readonly files: number };
  readonly lane: string | null;
  readonly isSandboxed: boolean;
}

export class TaskTrace {
  readonly #session: string;
  readonly #task: number;
  readonly #traceId: string;
  /** The session's, the task's, and then the others in the order in which they began. */
  readonly #spans: [Span, Span, ...Span[]];
  /** By the key that ends them. Null for a span that was left out. */
  readonly #open = new Map<string, Span | null>();
  #leftOut = 0;
  #agent = "";
  /**
   * `at`, `epoch`: when the last record was written, and by which owner. `toldAt`: the time of the last
   * record that is part of the trace. `cutAt`: the time of the previous owner's last record. `stage`: the
   * stage that began last. `capsuleMs`: how long the capsule stage took.
   */
  #seen = { at: "", epoch: 0, toldAt: "", cutAt: "", stage: "", capsuleMs: 0 };

  constructor(session: string, task: number) {
    this.#session = session;
    this.#task = task;
    const digest = createHash("sha256").update(`${session} ${task}`).digest("hex");
    this.#traceId = digest.slice(0, 32);
    const root = digest.slice(32, 48);
    const of = { kind: "internal", startAt: "", endAt: "", isError: false, attributes: {} } as const;
    this.#spans = [
      { ...of, id: root, parent: undefined, name: "session" },
      { ...of, id: digest.slice(48), parent: root, name: `task ${task}` },
    ];
  }

  /** Call it in the order of the journal, from the record that queued the task. */
  add(record: JournalRecord): void {
    const { at, epoch, type } = record;
    const [root, task] = this.#spans;
    if (root.startAt === "") root.startAt = at;
    // A span that an owner left open ended with that owner's last record, as far as is known.
    if (epoch !== this.#seen.epoch) this.#seen.cutAt = this.#seen.at;
    const isBegun = task.startAt !== "";
    if (type === "task_started" && !isBegun) this.#spans[1] = { ...task, id: spanId(record), startAt: at };
    // Nothing is part of the trace before the task's start.
    if (isBegun ? this.#tell(record) : type === "task_started") this.#seen.toldAt = at;
    this.#seen = { ...this.#seen, at, epoch };
  }

  json({ outcome, changed, lane, isSandboxed }: TraceFacts): string {
    const [root, task, ...others] = this.#spans;
    const { toldAt } = this.#seen;
    for (const span of this.#open.values()) if (span) span.endAt = toldAt;
    const of = {
      "gen_ai.conversation.id": this.#session,
      "holdfast.session": this.#session,
      "holdfast.task": this.#task,
      "holdfast.lane": lane ?? undefined,
      "holdfast.outcome": outcome,
    };
    const isError = outcome === "failed";
    const startAt = task.startAt || root.startAt;
    return otlpTrace(this.#traceId, [
      {
        ...root,
        endAt: toldAt,
        isError,
        attributes: {
          ...of,
          "holdfast.changed_files": changed.paths,
          "holdfast.changed_files_count": changed.files,
          "holdfast.spans_left_out": this.#leftOut,
        },
      },
      { ...task, startAt, endAt: toldAt, isError, attributes: { ...of, "holdfast.sandbox": isSandboxed } },
      ...others,
    ]);
  }

  /** Returns whether the record is part of the trace. */
  #tell(record: JournalRecord): boolean {
    const { type, data } = record;
    switch (type) {
      case "capsule_created":
        this.#seen.capsuleMs = amountIn(data["durationMs"]);
        return false;
      case "conversation_begun":
        this.#agent = textIn(data["agent"]);
        return false;
      case "stage_started":
        return this.#stageStarted(record);
      case "stage_ended":
        return this.#stageEnded(record);
      case "turn_started":
        this.#begin(record, turnSpan(this.#session, data), { key: `turn ${data["turn"]}`, in: ["stage"] });
        return true;
      case "turn_ended":
        return this.#turnEnded(record);
      case "tool_called":
        this.#begin(record, toolSpan(data), {
          key: `call ${data["call"]}`,
          in: [`turn ${data["turn"]}`, "stage"],
        });
        return true;
      case "tool_returned":
        return this.#end(`call ${data["call"]}`, record, {
          "holdfast.output_bytes": sizeOf(data["output"]),
        });
      case "usage_metered":
        this.#begin(record, requestSpan(this.#session, data), { in: [`turn ${data["turn"]}`, "stage"] });
        return true;
      case "check_started":
        this.#begin(record, checkSpan(data), { key: `check ${data["check"]}`, in: ["stage"] });
        return true;
      case "check_ended":
        return this.#end(
          `check ${data["check"]}`,
          record,
          receiptOf(data),
          data["passed"] === true ? "passed" : "failed",
        );
      default:
        return false;
    }
  }

  #stageStarted(record: JournalRecord): boolean {
    const stage = textIn(record.data["stage"]);
    // After a kill, persist runs again. It is the same stage, and gives the same trace.
    if (stage === "persist" && this.#seen.stage === stage) return false;
    this.#end("stage", record, {}, "interrupted");
    this.#seen.stage = stage;
    this.#begin(record, stageSpan(stage), { key: "stage" });
    return true;
  }

  /** The first two stages are recorded together, at their end, so only their duration is known. */
  #stageEnded(record: JournalRecord): boolean {
    const { at, data } = record;
    const stage = textIn(data["stage"]);
    if (this.#open.has("stage")) return this.#end("stage", record, {});
    const tookMs = stage === "capsule" ? this.#seen.capsuleMs : 0;
    const startAt = before(at, tookMs);
    const [root, task] = this.#spans;
    if (startAt < root.startAt) root.startAt = startAt;
    if (startAt < task.startAt) task.startAt = startAt;
    this.#begin(record, { ...stageSpan(stage), startAt });
    return true;
  }

  #turnEnded(record: JournalRecord): boolean {
    const { turn, usage } = record.data;
    const span = this.#open.get(`turn ${turn}`);
    // The agent reports its name after its first turn began.
    if (span && this.#agent !== "") {
      span.name = `invoke_agent ${this.#agent}`;
      span.attributes = { ...span.attributes, "gen_ai.agent.name": this.#agent };
    }
    return this.#end(`turn ${turn}`, record, usageOf(usage));
  }

  /**
   * `key`: what ends the span; without one it is a single moment. `in`: the span that it belongs to, if that
   * is open.
   */
  #begin(
    record: JournalRecord,
    said: Said,
    { key, in: within = [] }: { readonly key?: string; readonly in?: readonly string[] } = {},
  ): void {
    const { at, seq, type } = record;
    const room = LEAVES.has(type) ? MAX_SPANS - RESERVED_SPANS : MAX_SPANS;
    const span =
      this.#spans.length < room
        ? {
            startAt: at,
            ...said,
            id: spanId(record),
            parent: this.#within(within),
            endAt: at,
            isError: false,
            attributes: { ...said.attributes, "holdfast.seq": seq },
          }
        : null;
    if (span) this.#spans.push(span);
    else this.#leftOut += 1;
    if (key !== undefined) this.#open.set(key, span);
  }

  /** Does nothing if no record began the span. */
  #end(
    key: string,
    { at, data }: JournalRecord,
    attributes: Attributes,
    outcome = textIn(data["outcome"]),
  ): boolean {
    const span = this.#open.get(key);
    this.#open.delete(key);
    if (span) {
      const { cutAt } = this.#seen;
      const wasCut = outcome === "interrupted" && cutAt > span.startAt;
      span.endAt = wasCut ? cutAt : at;
      span.isError = ["failed", "error", "refused"].includes(outcome);
      const type = span.isError ? { "error.type": outcome } : {};
      span.attributes = {
        ...span.attributes,
        ...attributes,
        "holdfast.outcome": outcome || undefined,
        ...type,
      };
    }
    return span !== undefined;
  }

  /** The first of these that is open, or else the task. */
  #within(keys: readonly string[]): string {
    const open = keys.map((key) => this.#open.get(key)).find((span) => span);
    return (open ?? this.#spans[1]).id;
  }
}

const spanId = ({ hash }: Pick<JournalRecord, "hash">) => hash.slice(0, 16);

function before(at: string, ms: number): string {
  const moment = Date.parse(at) - ms;
  return Number.isFinite(moment) && moment > 0 ? new Date(moment).toISOString() : at;
}
