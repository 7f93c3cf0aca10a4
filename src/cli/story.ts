/**
 * Owns how a session's records are printed as a story: tasks, their turns, what was said and done in them,
 * and how long it took. Records that only keep Holdfast going are left out; `log --raw` has all of them.
 */
import type { JournalRecord, Json, JsonObject } from "../contract/index.ts";
import { parkedOf, parkedText } from "../dispatch/index.ts";
import { printable, shellText } from "../util/index.ts";
import { elapsed, plural } from "./amounts.ts";
import { clip, paint } from "./screen.ts";

const MIN_WIDTH = 40;
const INDENT = "  ";

export class Story {
  /** How many columns there are; undefined: nothing is shortened. */
  readonly #width: number | undefined;
  /** When each open call began. */
  readonly #calls = new Map<string, string>();
  #files = "";
  #ending = "";
  #turnDepth = "";
  #title: Json = null;
  /** The turn consists of one command, and is printed as that. */
  #isCommand = false;

  constructor(width: number | undefined) {
    this.#width = width;
  }

  /** The lines that a record adds; empty if it adds nothing. */
  tell(record: JournalRecord): string[] {
    const { type, data, at } = record;
    switch (type) {
      case "session_opened":
      case "session_forked":
        this.#title = data["title"] ?? null;
        return [this.#head(at, `session ${text(data["name"] ?? data["session"])}`, text(data["title"]))];
      case "session_imported":
        return [this.#head(at, "imported", `for ${text(data["user"])}`)];
      case "session_resumed":
        return [this.#head(at, "resumed", data["from"] === "interrupted" ? "after a crash" : "")];
      case "session_paused":
        return data["reason"] === "idle" || data["reason"] === "released"
          ? []
          : [this.#head(at, "paused", PAUSES[text(data["reason"])] ?? "")];
      case "session_closed":
      case "session_archived":
        return [this.#head(at, type.slice("session_".length), "")];
      case "session_rewound":
        return [this.#head(at, "rewound", `to the end of turn ${text(data["toTurn"])}`)];
      case "session_handed_off":
        return [this.#head(at, "handed over", `to ${text(data["to"])}, in ${text(data["directory"])}`)];
      case "session_returned":
        return [this.#head(at, "given back", `by ${text(data["by"])}`)];
      case "task_started":
        this.#files = "";
        return [this.#taskStart(data, at)];
      case "sandbox_waived":
        return [this.#head(at, "no sandbox", `task ${text(data["task"])} can do everything that you can do`)];
      case "task_refused":
        return [this.#head(at, "refused", `${text(data["code"])}: ${text(data["reason"])}`)];
      case "task_halted":
        return [
          this.#head(
            at,
            `task ${text(data["task"])} halted`,
            `${text(data["code"])}: ${text(data["reason"])}`,
          ),
        ];
      case "task_parked":
        return [this.#head(at, `task ${text(data["task"])} parked`, parkedText(parkedOf(data)))];
      case "task_unparked":
        return [this.#head(at, `task ${text(data["task"])} continues`, `by ${text(data["by"])}`)];
      case "budget_raised":
        return [this.#head(at, "budget raised", `to ${text(data["budget"])}`)];
      case "task_ended":
        return this.#taskEnd(data, at);
      default:
        return this.#inTurn(record);
    }
  }

  #inTurn({ type, data, at }: JournalRecord): string[] {
    switch (type) {
      case "turn_started":
        this.#turnDepth = INDENT;
        this.#isCommand = fieldsOf(data["input"])["command"] !== undefined;
        return [this.#line("", `turn ${text(data["turn"])}`, commandIn(data["input"]), text(data["by"]))];
      case "message_added":
        return [this.#line(INDENT, text(data["role"]), text(data["content"]))];
      case "message_received":
        return [this.#line(this.#turnDepth, `message from ${text(data["from"])}`, text(data["text"]))];
      case "tool_called":
        this.#calls.set(text(data["call"]), at);
        return this.#isCommand ? [] : [this.#line(INDENT, text(data["tool"]), text(data["args"]))];
      case "tool_returned":
        return this.#result(data, at);
      case "question_asked":
        return [this.#line(INDENT, "asks you", `${text(data["text"])} (${text(data["question"])})`)];
      case "question_answered":
        return [this.#line(INDENT, `answer of ${text(data["by"])}`, text(data["text"]))];
      case "approval_requested":
      case "approval_granted":
      case "approval_denied":
      case "approval_expired":
      case "action_begun":
      case "action_ended":
        return [this.#line(INDENT, ...approvalStory(type, data))];
      case "quota_reached":
        return [
          this.#line(
            INDENT,
            "quota",
            `${text(data["limit"])}: ${text(data["used"])} of ${text(data["allowed"])}`,
          ),
        ];
      case "host_allowed":
        return [this.#line(INDENT, "network", `${text(data["host"])} allowed by ${text(data["by"])}`)];
      case "process_ended":
        this.#ending =
          typeof data["exitCode"] === "number" ? `exit ${data["exitCode"]}` : text(data["signal"]);
        return [];
      case "turn_ended":
        return this.#turnEnd(data);
      case "work_published":
        this.#files = ` on ${text(data["branch"])}`;
        return [];
      case "shell_opened":
        return [this.#line(INDENT, "shell", `opened by ${text(data["by"])}`)];
      case "custom":
        return [this.#line(this.#turnDepth, text(data["name"]), text(rest(data, "name")))];
      default:
        return [];
    }
  }

  #result(data: JsonObject, at: string): string[] {
    const begun = this.#calls.get(text(data["call"]));
    this.#calls.delete(text(data["call"]));
    const tookMs = begun === undefined ? 0 : Date.parse(at) - Date.parse(begun);
    const output = outputIn(data["output"]);
    const outcome = data["outcome"] === "ok" ? "" : `${text(data["outcome"])} `;
    const lines = output === "" ? [] : [this.#line(INDENT, `${outcome}→`, output)];
    return tookMs >= WORTH_TELLING_MS && lines.length > 0
      ? [`${lines[0]} ${paint("dim", `(${elapsed(tookMs)})`)}`]
      : lines;
  }

  #turnEnd(data: JsonObject): string[] {
    this.#turnDepth = "";
    const spent = fieldsOf(data["usage"]);
    const tokens = Number(spent["inputTokens"] ?? 0) + Number(spent["outputTokens"] ?? 0);
    const parts = [
      text(data["outcome"]),
      ...(this.#ending === "" ? [] : [this.#ending]),
      `after ${elapsed(Number(data["durationMs"] ?? 0))}`,
      ...(tokens > 0 ? [plural(tokens, "token")] : []),
      ...(Number(spent["usd"] ?? 0) > 0 ? [`$${Number(spent["usd"]).toFixed(2)}`] : []),
    ];
    this.#ending = "";
    return [INDENT + paint(data["outcome"] === "completed" ? "dim" : "red", printable(parts.join(", ")))];
  }

  #taskStart(data: JsonObject, at: string): string {
    const lane = text(data["lane"]);
    const what = `task ${text(data["task"])}${lane === "" ? "" : `, lane ${lane}`}`;
    // What the session is about is not repeated.
    return this.#head(at, what, data["asked"] === this.#title ? "" : text(data["asked"]));
  }

  #taskEnd(data: JsonObject, at: string): string[] {
    const files = Number(data["files"] ?? 0);
    const changed = `${plural(files, "file")} changed, +${text(data["insertions"] ?? 0)} -${text(data["deletions"] ?? 0)}`;
    const { reason } = fieldsOf(data["unpublished"]);
    const why = reason === undefined ? "" : `; ${text(reason)}`;
    return [
      this.#head(
        at,
        `task ${text(data["task"])} ${text(data["outcome"])}`,
        `${files > 0 ? changed : "nothing changed"}${this.#files}${why}`,
      ),
    ];
  }

  /** A step of the session, with its time. */
  #head(at: string, what: string, more: string): string {
    const time = new Date(at).toLocaleString("sv");
    return `${paint("dim", printable(time))}  ${paint("bold", printable(what))}${more === "" ? "" : `  ${this.#fit(more, time.length + what.length + 4)}`}`;
  }

  #line(indent: string, who: string, what: string, by = ""): string {
    const name = by === "" ? who : `${who}, ${by}`;
    return `${indent}${paint("cyan", printable(name))}${what === "" ? "" : ` ${this.#fit(what, indent.length + name.length + 1)}`}`;
  }

  #fit(what: string, taken: number): string {
    const oneLine = what.trim().replace(/\s*\n\s*/g, " · ");
    return this.#width === undefined
      ? printable(oneLine)
      : clip(oneLine, Math.max(MIN_WIDTH, this.#width - taken));
  }
}

const WORTH_TELLING_MS = 1000;

const PAUSES: Readonly<Record<string, string>> = {
  budget: "its budget is reached",
  quota: "it used more than its quota",
  import: "",
};

function fieldsOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** What a person is asked to approve, and what came of it. */
function approvalStory(type: string, data: JsonObject): [who: string, what: string] {
  const approval = text(data["approval"]);
  const named = `${text(data["tool"])} (${approval})`;
  switch (type) {
    case "approval_requested":
      return ["needs approval", `${named} ${text(data["args"])}`];
    case "approval_granted":
      return [`granted by ${text(data["by"])}`, approval];
    case "approval_denied":
      return [`denied by ${text(data["by"])}`, `${approval} ${text(data["reason"])}`.trim()];
    case "approval_expired":
      return ["expired", approval];
    case "action_begun":
      return ["acts", named];
    default:
      return [`action ${text(data["outcome"])}`, `${named} ${text(data["output"])}`.trim()];
  }
}

function commandIn(input: Json | undefined): string {
  const { command } = fieldsOf(input);
  return Array.isArray(command) ? shellText(command.map(text)) : text(input);
}

/** What a command wrote, without how it ended. */
function outputIn(output: Json | undefined): string {
  return text(fieldsOf(output)["output"] ?? output);
}

function text(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function rest(data: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== key));
}
