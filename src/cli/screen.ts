/**
 * Owns what reaches the terminal. All untrusted text goes through `printable`. Colour is used only on a
 * terminal.
 */
import { styleText } from "node:util";
import { printable, printableJson } from "../util/index.ts";
import { progress } from "./progress.ts";

type Style = Parameters<typeof styleText>[0];

export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Prints Holdfast's own words, and text that has been made printable. */
export function say(line: string): void {
  progress.clear();
  process.stdout.write(`${line}\n`);
}

export function sayJson(value: unknown): void {
  say(printableJson(value));
}

const USUAL_COLUMNS = 80;

/** How long a line may be there. A pipe may lead to a terminal whose width is not known. */
export function widthOf({ columns }: { readonly columns?: number }): number {
  return columns || process.stderr.columns || USUAL_COLUMNS;
}

/** Notes are not the answer: they go to stderr, so that a pipe gets only the answer. */
export function note(line: string): void {
  progress.clear();
  process.stderr.write(`${line}\n`);
}

/** The bell, and the title of the window, because the person may be looking at another one. */
export function alert(title: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\u0007\u001b]0;${printable(title)}\u0007`);
}

/** Bytes that a task wrote: unchanged to a pipe; to a terminal without sequences that could affect it. */
export function stream(target: NodeJS.WriteStream, chunk: Buffer): void {
  const harmless = (text: string) =>
    text.split(/([\n\t])/).map((part, index) => (index % 2 === 0 ? printable(part) : part));
  progress.clear();
  progress.wrote(target.isTTY ? chunk.at(-1) : undefined);
  target.write(target.isTTY ? harmless(chunk.toString("utf8").replaceAll("\r\n", "\n")).join("") : chunk);
}

/**
 * Columns are as wide as they need to be. The last one is not padded, and is cut at the width of the
 * terminal.
 */
export function tableLines(
  rows: readonly (readonly string[])[],
  width: number | undefined = process.stdout.columns,
): string[] {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => visibleLength(row[column] ?? "")))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? cut(cell, widths.slice(0, -1), width) : pad(cell, widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}

export function table(rows: readonly (readonly string[])[]): void {
  for (const line of tableLines(rows)) say(line);
}

export function clip(text: string, length: number): string {
  const shown = printable(text);
  return shown.length <= length ? shown : `${shown.slice(0, length - 1)}…`;
}

/** How long ago, in the largest unit that fits. */
export function ago(iso: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(iso)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Never so short that nothing is left. Colours count as text here, and texts that have some are short. */
function cut(cell: string, before: readonly number[], width: number | undefined): string {
  if (width === undefined) return cell;
  const left = width - before.reduce((sum, one) => sum + one + 2, 0);
  const most = Math.max(MIN_LAST, left);
  return cell.length <= most || visibleLength(cell) < cell.length ? cell : `${cell.slice(0, most - 1)}…`;
}

const MIN_LAST = 12;

function pad(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - visibleLength(cell)));
}

function visibleLength(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours that `paint` adds
  return text.replace(/\u001b\[\d+m/g, "").length;
}
