/**
 * Owns how one record is printed in a terminal: time, turn, actor and event, on one line that can't move the
 * cursor.
 */
import type { JournalRecord, Json, JsonObject } from "../contract/index.ts";
import { printable } from "../util/index.ts";
import { clip, paint } from "./screen.ts";

type Style = Parameters<typeof paint>[0];

interface Told {
  readonly who: string;
  readonly style: Style;
  readonly what: string;
}

/** The part before the text. */
const PREFIX_WIDTH = 46;
const MIN_TEXT_WIDTH = 40;

/** Cut to the given number of columns, or whole without one: a pipe gets everything. */
export function formatRecord(record: JournalRecord, width: number | undefined): string {
  const { who, style, what } = tell(record);
  const turn = typeof record.data["turn"] === "number" ? `t${record.data["turn"]}` : "";
  const text =
    width === undefined ? printable(what) : clip(what, Math.max(MIN_TEXT_WIDTH, width - PREFIX_WIDTH));
  const redacted = record.redacted
    ? paint("yellow", ` (redacted: ${printable(record.redacted.join(", "))})`)
    : "";
  const seq = paint("dim", `#${record.seq}`.padEnd(5));
  const time = paint("dim", printable(localTime(record.at)));
  return `${seq} ${time}  ${turn.padEnd(4)} ${paint(style, clip(who, 11).padEnd(11))} ${text}${redacted}`;
}

/** In the reader's time zone, as 2026-01-31 12:00:00. */
function localTime(iso: string): string {
  return new Date(iso).toLocaleString("sv");
}

function tell({ type, data }: JournalRecord): Told {
  switch (type) {
    case "turn_started":
      return { who: asText(data["by"]) || "input", style: "cyan", what: asText(data["input"]) };
    case "message_added":
      return { who: asText(data["role"]), style: "green", what: asText(data["content"]) };
    case "tool_called":
      return { who: "call", style: "blue", what: `${asText(data["tool"])} ${asText(data["args"])}` };
    case "tool_returned":
      return {
        who: asText(data["outcome"]),
        style: data["outcome"] === "ok" ? "blue" : "red",
        what: asText(data["output"]),
      };
    case "turn_ended":
      return { who: "end", style: "dim", what: `${asText(data["outcome"])} ${asText(data["usage"] ?? {})}` };
    case "process_ended":
      return {
        who: "command",
        style: data["exitCode"] === 0 ? "dim" : "red",
        what:
          typeof data["exitCode"] === "number"
            ? `exit ${data["exitCode"]}`
            : `ended by ${asText(data["signal"])}`,
      };
    case "custom":
      return {
        who: "custom",
        style: "dim",
        what: `${asText(data["name"])} ${asText(without(data, "name"))}`,
      };
    default:
      return { who: "session", style: "magenta", what: `${type} ${asText(without(data, "session"))}` };
  }
}

function asText(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function without(data: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== key));
}
