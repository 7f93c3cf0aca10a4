/**
 * Owns how a request for approval is shown: all of it, so that nothing in it can be faked, hidden or pushed
 * off the screen.
 *
 * shown-1 Every line with text from an agent, a tool or a repo begins with a bar. No such text can write the
 *         bar, not even where a terminal breaks lines: they are broken here.
 * shown-2 Nothing is cut: long text has many lines.
 */
import { canonical } from "../approval/index.ts";
import type { Action, Json, JsonObject } from "../contract/index.ts";
import type { AskedOfPerson } from "../dispatch/index.ts";
import type { ShownDiff } from "../task/index.ts";
import { printable } from "../util/index.ts";
import { plural } from "./amounts.ts";

const BAR = "│ ";
const NAME_WIDTH = 12;
const MIN_WIDTH = 20;

export interface ShownRequest {
  readonly asked: AskedOfPerson;
  /** Undefined if the record does not have the whole action; then it can't be approved. */
  readonly action: Action | undefined;
  /** Of the files that the request is based on. */
  readonly diff: ShownDiff | undefined;
  readonly width: number;
}

/** Who asks for what, the exact request, what it would reach, what it is based on, and the fingerprint. */
export function requestLines({ asked, action, diff, width }: ShownRequest): string[] {
  const { id, kind, label, task, at, expiresAt, data } = asked;
  const field = (name: string, text: string) => named(name, [printable(text)], width);
  const json = (name: string, value: Json) => named(name, jsonLines(value), width);
  const who = `${label}${task === null ? "" : `/${task}`}`;
  const until = expiresAt === null ? "" : `, until ${localTime(expiresAt)}`;
  const head = [`${id}  ${kind} asked for by ${printable(who)}, ${localTime(at)}${until}`];
  if (kind === "question") return [...head, ...field("question", text(data["text"]))];
  return [
    ...head,
    ...field(
      "tool",
      `${text(data["tool"])}${data["class"] === undefined ? "" : ` (${text(data["class"])})`}`,
    ),
    ...field("lane", text(data["lane"])),
    ...json("arguments", action ? action.args : (data["args"] ?? null)),
    ...(action ? json("reaches", action.target) : []),
    ...named(
      "facts",
      factsOf(data).map(([name, fact]) => `${printable(name)}: ${printable(fact)}`),
      width,
    ),
    ...filesLines(asked, diff, width),
    ...(data["previous"] === undefined
      ? []
      : field("before", `${text(data["previous"])} was spent for the same action, ${outcomeOf(data)}`)),
    ...(action ? [] : ["it can't be approved: its record does not contain the whole action"]),
    `${"fingerprint".padEnd(NAME_WIDTH)}${printable(text(data["fingerprint"]))}`,
  ];
}

/** The whole patch, with a bar before each line. */
export function patchLines(patch: Buffer, width: number): string[] {
  const lines = patch.toString("utf8").replace(/\n$/, "").split("\n");
  return lines.flatMap((line) => broken(printable(line), width).map((part) => BAR + part));
}

function filesLines({ data, label }: AskedOfPerson, diff: ShownDiff | undefined, width: number): string[] {
  if (data["tree"] === undefined) return [];
  const on = data["base"] === undefined ? "" : `, against ${text(data["base"])}`;
  const tree = named("tree", [printable(`${text(data["tree"])}${on}`)], width);
  const changes = (lines: readonly string[]) => [...tree, ...named("changes", lines, width)];
  if (!diff) return changes(["its files are gone"]);
  if (diff.isTooLarge) {
    const count = diff.files === null ? "" : `: ${plural(diff.files, "file")}`;
    const look = printable(`holdfast diff ${label} --stat`);
    return changes([`too large to show${count}, so it can't be approved. ${look} lists them`]);
  }
  const { files, insertions, deletions, paths } = diff.stat;
  const sum = `${plural(files, "file")} changed, +${insertions} -${deletions}`;
  return changes([sum, ...paths.map((path) => `  ${printable(path)}`)]);
}

/** Sorted, one value a line. A line feed in a text is printed as an escape, as in JSON. */
function jsonLines(value: Json): string[] {
  const sorted: unknown = JSON.parse(formOf(value));
  return JSON.stringify(sorted, null, 2).split("\n").map(printable);
}

/** The action of an older record, which may have no canonical form, is shown as it is. */
function formOf(value: Json): string {
  try {
    return canonical(value);
  } catch {
    return JSON.stringify(value);
  }
}

/** shown-1: the name is Holdfast's own, and the text after the bar is not. */
function named(name: string, lines: readonly string[], width: number): string[] {
  const parts = lines.flatMap((line) => broken(line, width - NAME_WIDTH));
  return parts.map((part, at) => `${(at === 0 ? name : "").padEnd(NAME_WIDTH)}${BAR}${part}`);
}

/** shown-2: broken into as many lines as it needs. A character may take two columns. */
function broken(line: string, width: number): string[] {
  const most = Math.max(MIN_WIDTH, width - BAR.length - 1);
  const parts: string[] = [];
  let part = "";
  let columns = 0;
  for (const character of line) {
    const wide = character.length > 1 || character > "\u02ff" ? 2 : 1;
    if (columns + wide > most) {
      parts.push(part);
      part = "";
      columns = 0;
    }
    part += character;
    columns += wide;
  }
  return [...parts, part];
}

const outcomeOf = ({ previousOutcome }: JsonObject) =>
  previousOutcome === "ok"
    ? "which was done: if you approve this, it is done once more"
    : previousOutcome === "error"
      ? "which failed, and may have been done in part"
      : "and its outcome is unknown";

function factsOf(data: JsonObject): [string, string][] {
  const { facts } = data;
  if (!Array.isArray(facts)) return facts === undefined ? [] : [["facts", text(facts)]];
  return facts.map((fact) => (Array.isArray(fact) ? [text(fact[0]), text(fact[1])] : ["fact", text(fact)]));
}

function text(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** In the reader's time zone. */
const localTime = (iso: string) => new Date(iso).toLocaleString("sv");
