/**
 * Owns what is shown of a running task: the lines of each stage when it is over, the output in between, and
 * how the task ended.
 *
 * | stage           | it is over when                                                  |
 * |-----------------|------------------------------------------------------------------|
 * | route, capsule  | its `stage_ended` is on record                                   |
 * | act             | its checks begin, or `task_ended` is on record                   |
 * | persist         | `task_ended` is on record                                        |
 *
 * A journal from before there were stages has no `stage_ended`. There, a stage is over when a record of a
 * later one follows.
 */
import {
  type ErrorCode,
  errorCodes,
  HoldfastError,
  type JournalRecord,
  type JsonObject,
  whyNoHost,
} from "../contract/index.ts";
import { type Happening, parkedOf, parkedText } from "../dispatch/index.ts";
import { statusOfCommand, statusOfOutcome, statusOfPark } from "../face/index.ts";
import { printable } from "../util/index.ts";
import { progress } from "./progress.ts";
import { note, sayJson, stream } from "./screen.ts";
import {
  actLines,
  capsuleLines,
  commandOf,
  isTurnInterrupted,
  persistLines,
  publishedLines,
  routeLines,
  type StageLine,
  type Whose,
} from "./stage-lines.ts";
import { approvalLines, checkLines, verificationLines } from "./verify-lines.ts";

interface TaskViewOptions extends Whose {
  readonly json: boolean;
  /** Undefined: the task that the session is at. */
  readonly request?: string;
  /** Its output was already shown, in a window. */
  readonly wasShown?: boolean;
}

interface TaskEnding {
  readonly status: number;
  /** How the task ended, in short. */
  readonly title: string;
}

const FIRST_STAGES = ["route", "capsule"] as const;
type FirstStage = (typeof FIRST_STAGES)[number];

const SAID_IN: Readonly<Record<FirstStage, string>> = { route: "task_started", capsule: "capsule_created" };

/** Records that can come only after a stage. */
const BEHIND: Readonly<Record<FirstStage, readonly string[]>> = {
  route: ["capsule_created"],
  capsule: ["turn_started", "task_halted", "task_ended"],
};

export class TaskView {
  readonly #options: TaskViewOptions;
  readonly #records = new Map<string, JsonObject>();
  /** The first stages of a task whose lines are still to be printed. */
  readonly #ahead = new Set(FIRST_STAGES);
  /** The tool of each approval, by its id. */
  readonly #tools = new Map<string, string>();
  #isOurs: boolean;
  #isRefused = false;
  #isSetUp = false;
  #isActTold = false;

  constructor(options: TaskViewOptions) {
    this.#options = options;
    this.#isOurs = options.request === undefined;
    if (options.json)
      progress.divert((_text, step, elapsedMs) => sayJson({ stage: "progress", ...step, elapsedMs }));
  }

  /** The task never began. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  tell(stage: string, facts: Record<string, unknown>, text: string): void {
    if (this.#options.json) sayJson({ stage, ...facts });
    else note(`[${stage}]`.padEnd(10) + printable(text));
  }

  /** The ending, if this was it. */
  show(happening: Happening): TaskEnding | undefined {
    switch (happening.kind) {
      case "output":
        if (!this.#options.wasShown) this.#output(happening.stream, happening.chunk);
        return undefined;
      case "progress":
        if (happening.step) progress.step(happening.step);
        else progress.end();
        return undefined;
      case "refused":
        this.#tellRefused(happening.host);
        return undefined;
      case "waits":
        this.tell("queue", { reason: happening.reason }, `waits: ${happening.reason}`);
        return undefined;
      case "record":
        return this.#record(happening.record);
      case "left":
        return undefined;
    }
  }

  #tellRefused(host: string): void {
    const { label } = this.#options.session;
    const isName = whyNoHost(host) === undefined;
    const way = `holdfast allow ${label} ${host} allows it for this task, run --host ${host} for another one`;
    this.tell("network", { host, isAllowed: false }, `${host} was refused${isName ? `: ${way}` : ""}`);
  }

  /** The command's own status, if it ended by itself and failed; otherwise that of the task. */
  statusWithin(status: number): number {
    const own = isTurnInterrupted(this.#records) ? undefined : statusOfCommand(commandOf(this.#records));
    return own === undefined || own === 0 ? status : own;
  }

  #output(name: "stdout" | "stderr" | "setup", chunk: Buffer): void {
    if (name === "setup" && !this.#isSetUp) {
      this.tell("setup", {}, "running capsule.setup, once for this base");
      this.#isSetUp = true;
    }
    if (!this.#options.json) stream(name === "stdout" ? process.stdout : process.stderr, chunk);
    else if (name !== "setup") sayJson({ stage: "output", stream: name, text: chunk.toString("utf8") });
  }

  #record({ type, data }: JournalRecord): TaskEnding | undefined {
    const { request } = this.#options;
    if (type === "task_started") this.#begin(data);
    // A record of another task of the same session.
    if (!this.#isOurs && OF_A_TASK.has(type)) return undefined;
    this.#records.set(type, data);
    for (const stage of FIRST_STAGES.filter((one) => isOver(one, type, data))) this.#tellStage(stage);
    switch (type) {
      case "quota_reached":
        this.tell(
          "quota",
          data,
          `${data["limit"]}: ${data["used"]} of ${data["allowed"]}: the turn was ended`,
        );
        return undefined;
      case "message_received":
        this.tell("message", data, `from ${data["from"]}: ${String(data["text"]).slice(0, 500)}`);
        return undefined;
      case "host_allowed":
        this.tell("network", { ...data, isAllowed: true }, `${data["host"]} is allowed until the task ends`);
        return undefined;
      case "message_set_aside":
        this.tell("message", data, `${data["message"]} was set aside: ${data["reason"]}`);
        return undefined;
      case "approval_requested":
        this.#tools.set(String(data["approval"]), String(data["tool"]));
        this.#tellAll(approvalLines(type, data, String(data["tool"])));
        return undefined;
      case "approval_granted":
      case "approval_denied":
      case "approval_expired":
        this.#tellAll(approvalLines(type, data, this.#tools.get(String(data["approval"])) ?? "approval"));
        return undefined;
      case "question_asked":
        this.tell("ask", data, `${data["text"]} (to answer: holdfast answer ${data["question"]} TEXT)`);
        return undefined;
      case "check_started":
        this.#tellAct();
        return undefined;
      case "check_ended":
        this.#tellAll(checkLines(data));
        return undefined;
      case "work_published":
        this.#tellAll(publishedLines(this.#records));
        return undefined;
      case "task_refused":
        if (request !== undefined && data["request"] !== request) return undefined;
        this.#isRefused = true;
        throw failure(data);
      case "task_halted":
        this.#isRefused = false;
        throw failure(data);
      case "task_parked":
        return this.#tellParked(data);
      case "task_ended":
        progress.end();
        this.#tellAct();
        this.#tellAll(verificationLines(this.#records.get("verification_ended") ?? {}));
        this.#tellAll(persistLines(this.#records, this.#options));
        return {
          status: statusOfOutcome(String(data["outcome"])),
          title: `task ${data["task"]} ${data["outcome"]}`,
        };
      default:
        return undefined;
    }
  }

  /** Printed once: before the checks, if the task has some. */
  #tellAct(): void {
    if (this.#isActTold) return;
    this.#isActTold = true;
    this.#tellAll(actLines(this.#records));
  }

  /** The task goes on later; there is nothing more to see now. */
  #tellParked(data: JsonObject): TaskEnding {
    progress.end();
    const { label } = this.#options.session;
    const parked = parkedOf(data);
    const text = `${parkedText(parked)}: holdfast show ${label} says how to continue it`;
    this.tell("parked", data, text);
    return { status: statusOfPark(parked.reason), title: `task ${data["task"]} parked` };
  }

  /** Earlier records are of another task, except those that are written before a task begins. */
  #begin({ request, task }: JsonObject): void {
    this.#isOurs = this.#options.request === undefined || request === this.#options.request;
    if (!this.#isOurs) return;
    const waived = this.#records.get("sandbox_waived");
    this.#records.clear();
    this.#isActTold = false;
    if (waived && waived["task"] === task) this.#records.set("sandbox_waived", waived);
    for (const stage of FIRST_STAGES) this.#ahead.add(stage);
  }

  /**
   * Printed once, and only if the stage's own record was seen: not for a stage that was over before the
   * person began to watch.
   */
  #tellStage(stage: FirstStage): void {
    if (!this.#records.has(SAID_IN[stage]) || !this.#ahead.delete(stage)) return;
    this.#tellAll(stage === "route" ? routeLines(this.#records, this.#options) : capsuleLines(this.#records));
  }

  #tellAll(lines: readonly StageLine[]): void {
    for (const { stage, facts, text } of lines) this.tell(stage, facts, text);
  }
}

function isOver(stage: FirstStage, type: string, data: JsonObject): boolean {
  return type === "stage_ended" ? data["stage"] === stage : BEHIND[stage].includes(type);
}

const OF_A_TASK: ReadonlySet<string> = new Set([
  "task_started",
  "stage_ended",
  "capsule_created",
  "turn_started",
  "process_ended",
  "turn_ended",
  "snapshot_taken",
  "check_started",
  "check_ended",
  "verification_ended",
  "work_published",
  "task_halted",
  "task_parked",
  "task_ended",
  "quota_reached",
  "host_allowed",
]);

/** A failure of the session process, reported as if it had happened here. */
function failure({ code, reason }: JsonObject): Error {
  const name = String(code);
  return Object.hasOwn(errorCodes, name)
    ? new HoldfastError(name as ErrorCode, String(reason))
    : new Error(String(reason));
}
