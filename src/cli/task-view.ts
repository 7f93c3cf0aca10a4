/**
 * Owns what is shown of a task that runs: one line a stage, its output in between, and how it ended.
 */
import { type ErrorCode, errorCodes, HoldfastError, type JournalRecord } from "../contract/index.ts";
import type { Happening } from "../dispatch/index.ts";
import { printable } from "../util/index.ts";
import { plural } from "./amounts.ts";
import { progress } from "./progress.ts";
import { note, sayJson, stream } from "./screen.ts";
import { type CommandEnding, endingText, statusOfCommand, statusOfOutcome } from "./task-outcome.ts";
import type { NamedSession } from "./which-session.ts";

type Data = JournalRecord["data"];

export interface TaskEnding {
  readonly status: number;
}

export class TaskView {
  readonly #session: NamedSession;
  readonly #user: string;
  readonly #isJson: boolean;
  /** Undefined: whichever the session is at. */
  readonly #request: string | undefined;
  /** Its output was seen already, in a window. */
  readonly #wasShown: boolean;
  #isOurs = false;
  #isRefused = false;
  #isSetUp = false;
  #isWaived = false;
  #ended: Data = {};
  #snapshot: Data = {};
  #branch: string | null = null;
  #isInterrupted = false;

  constructor(of: {
    session: NamedSession;
    user: string;
    json: boolean;
    request?: string;
    wasShown?: boolean;
  }) {
    this.#session = of.session;
    this.#user = of.user;
    this.#isJson = of.json;
    this.#request = of.request;
    this.#wasShown = of.wasShown ?? false;
    this.#isOurs = of.request === undefined;
    if (of.json)
      progress.divert((_text, step, elapsedMs) => sayJson({ stage: "progress", ...step, elapsedMs }));
  }

  /** It never began. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  tell(stage: string, facts: Record<string, unknown>, text: string): void {
    if (this.#isJson) sayJson({ stage, ...facts });
    else note(`[${stage}]`.padEnd(10) + printable(text));
  }

  /** The ending, when this was it. */
  show(happening: Happening): TaskEnding | undefined {
    switch (happening.kind) {
      case "output":
        if (!this.#wasShown) this.#output(happening.stream, happening.chunk);
        return undefined;
      case "progress":
        if (happening.step) progress.step(happening.step);
        else progress.end();
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

  #output(name: "stdout" | "stderr" | "setup", chunk: Buffer): void {
    if (name === "setup" && !this.#isSetUp) {
      this.tell("setup", {}, "capsule.setup runs, once for this base");
      this.#isSetUp = true;
    }
    if (!this.#isJson) stream(name === "stdout" ? process.stdout : process.stderr, chunk);
    else if (name !== "setup") sayJson({ stage: "output", stream: name, text: chunk.toString("utf8") });
  }

  #record({ type, data }: JournalRecord): TaskEnding | undefined {
    const { id, label } = this.#session;
    // Of another task of the same session.
    if (!this.#isOurs && OF_A_TASK.has(type)) return undefined;
    switch (type) {
      case "sandbox_waived":
        this.#isWaived = true;
        return undefined;
      case "task_started":
        this.#isOurs = this.#request === undefined || data["request"] === this.#request;
        if (!this.#isOurs) return undefined;
        this.tell(
          "router",
          { session: id, name: label === id ? null : label, task: data["task"], user: this.#user },
          `session=${label} task=${data["task"]} scope=user:${this.#user}`,
        );
        this.#carried(data["carried"]);
        return undefined;
      case "capsule_created":
        return this.#capsule(data);
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
      case "message_set_aside":
        this.tell("message", data, `${data["message"]} was set aside: ${data["reason"]}`);
        return undefined;
      case "process_ended":
        this.#ended = data;
        return undefined;
      case "turn_ended":
        this.#isInterrupted = data["outcome"] === "interrupted";
        return undefined;
      case "snapshot_taken":
        this.#snapshot = data;
        return undefined;
      case "work_published":
        this.#branch = String(data["branch"]);
        if (typeof data["replaced"] === "string") this.#replaced(data["replaced"]);
        return undefined;
      case "task_refused":
      case "task_halted":
        if (type === "task_refused" && this.#request !== undefined && data["request"] !== this.#request)
          return undefined;
        this.#isRefused = type === "task_refused";
        throw failure(data);
      case "task_ended":
        return this.#end(data);
      default:
        return undefined;
    }
  }

  /** Worth a line where the last task did not end as it should. */
  #carried(carried: Data[string] | undefined): void {
    if (typeof carried !== "object" || carried === null || Array.isArray(carried)) return;
    const { task, outcome = "never ended" } = carried;
    if (outcome === "done") return;
    this.tell(
      "router",
      { carried },
      `goes on with what task ${task} left, which ${HOW[String(outcome)] ?? outcome}`,
    );
  }

  /** The work stands on an earlier commit, or on another one. */
  #replaced(replaced: string): void {
    const text = `${this.#branch} was at ${replaced.slice(0, 12)} before; git branch <name> ${replaced.slice(0, 12)} brings that back`;
    this.tell("persist", { branch: this.#branch, replaced }, text);
  }

  #capsule(data: Data): undefined {
    const { strategy, durationMs: ms } = data;
    const base = typeof data["base"] === "string" ? data["base"] : null;
    const ports = (data["ports"] ?? {}) as Record<string, number>;
    const shown = Object.entries(ports).map(([name, port]) => ` ${name}=${port}`);
    const text = `${strategy} base=${base?.slice(0, 12) ?? "(no commit)"} ready in ${ms} ms${shown.join("")}`;
    this.tell("capsule", { strategy, base, ports, ms }, text);
    for (const path of (data["missing"] ?? []) as string[])
      this.tell("capsule", { missing: path }, `capsule.include: ${path} is not there`);
    if (this.#isWaived) this.tell("sandbox", { waived: true }, "waived: the command can do whatever you can");
  }

  #end(data: Data): TaskEnding {
    progress.end();
    const { task, outcome } = data;
    const stat = {
      files: Number(data["files"] ?? 0),
      insertions: Number(data["insertions"] ?? 0),
      deletions: Number(data["deletions"] ?? 0),
    };
    const { exitCode, signal } = this.#command;
    const isInterrupted = this.#isInterrupted;
    const how = isInterrupted ? "interrupted" : (endingText({ exitCode, signal }) ?? "no exit status");
    const changed = `${plural(stat.files, "file")} changed, +${stat.insertions} -${stat.deletions}`;
    this.tell("agent", { exitCode, signal, isInterrupted, ...stat }, `${how}, ${changed}`);
    const omitted = Number(this.#snapshot["omitted"] ?? 0);
    if (omitted > 0)
      this.tell("snapshot", { omitted }, `${plural(omitted, "ignored file")} beyond max_ignored_mb left out`);
    const ofHome = omittedIn(this.#snapshot["home"]);
    if (ofHome > 0)
      this.tell("snapshot", { ofHome }, `${plural(ofHome, "file")} of HOME beyond max_home_mb left out`);
    const unanswered = Number(this.#snapshot["unanswered"] ?? 0);
    if (unanswered > 0) this.#tellUnanswered(unanswered);
    const { tree, snapshot } = this.#snapshot;
    const branch = this.#branch;
    const unpublished = (data["unpublished"] ?? null) as { code: string; reason: string } | null;
    const published = branch
      ? `branch ${branch}`
      : stat.files === 0
        ? "nothing to publish"
        : unpublished?.code === "no_repo"
          ? unpublished.reason
          : `not published; holdfast diff ${this.#session.label} shows it`;
    this.tell(
      "persist",
      { task, outcome, snapshot, tree, branch, omitted, unpublished, ...stat },
      `tree=${String(tree).slice(0, 12)} ${published}`,
    );
    if (unpublished && unpublished.code !== "no_repo")
      this.tell("review", { ...unpublished }, unpublished.reason);
    return { status: statusOfOutcome(String(outcome)) };
  }

  /** The command's own status, where it ended by itself and not well; otherwise that of its task. */
  statusWithin(status: number): number {
    const own = this.#isInterrupted ? undefined : statusOfCommand(this.#command);
    return own === undefined || own === 0 ? status : own;
  }

  get #command(): CommandEnding {
    const { exitCode, signal } = this.#ended;
    return {
      exitCode: typeof exitCode === "number" ? exitCode : null,
      signal: typeof signal === "string" ? signal : null,
    };
  }

  #tellUnanswered(unanswered: number): void {
    const named = this.#snapshot["unansweredPaths"];
    const paths = Array.isArray(named) ? named.map(String) : [];
    const more = unanswered > paths.length ? ", …" : "";
    const text = `${plural(unanswered, "file")} kept and not published, because git gave no answer about them: `;
    this.tell("snapshot", { unanswered, paths }, `${text}${paths.join(", ")}${more}`);
  }
}

const HOW: Readonly<Record<string, string>> = {
  failed: "failed",
  cancelled: "was cancelled",
  interrupted: "was interrupted",
  needs_review: "needs a review",
  rewound: "was rewound",
};

const OF_A_TASK: ReadonlySet<string> = new Set([
  "capsule_created",
  "process_ended",
  "turn_ended",
  "snapshot_taken",
  "work_published",
  "task_halted",
  "task_ended",
  "quota_reached",
]);

function omittedIn(home: Data[string] | undefined): number {
  return typeof home === "object" && home !== null && "omitted" in home ? Number(home["omitted"]) : 0;
}

/** A failure of the session process, as if it had happened here. */
function failure({ code, reason }: Data): Error {
  const name = String(code);
  return Object.hasOwn(errorCodes, name)
    ? new HoldfastError(name as ErrorCode, String(reason))
    : new Error(String(reason));
}
