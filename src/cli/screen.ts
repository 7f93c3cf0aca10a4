/**
 * Owns what reaches the terminal. All untrusted text goes through `printable`; colour only where a terminal is.
 */
import { styleText } from "node:util";
import { printable, printableJson } from "../util/index.ts";
import { progress } from "./progress.ts";

export { bytes, plural } from "./amounts.ts";

type Style = Parameters<typeof styleText>[0];

export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Own words and text that has been made printable. */
export function say(line: string): void {
  progress.clear();
  process.stdout.write(`${line}\n`);
}

export function sayJson(value: unknown): void {
  say(printableJson(value));
}

/** Notes that are not the answer: to stderr, so that a pipe gets only the answer. */
export function note(line: string): void {
  progress.clear();
  process.stderr.write(`${line}\n`);
}

/** Bytes that a task wrote: to a pipe as they are, to a terminal without what could play tricks with it. */
export function stream(target: NodeJS.WriteStream, chunk: Buffer): void {
  const harmless = (text: string) =>
    text.split(/([\n\t])/).map((part, index) => (index % 2 === 0 ? printable(part) : part));
  progress.clear();
  progress.wrote(target.isTTY ? chunk.at(-1) : undefined);
  target.write(target.isTTY ? harmless(chunk.toString("utf8").replaceAll("\r\n", "\n")).join("") : chunk);
}

/** Columns as wide as they need to be; the last one is not padded. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => visibleLength(row[column] ?? "")))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
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

function pad(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - visibleLength(cell)));
}

function visibleLength(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours that `paint` adds
  return text.replace(/\u001b\[\d+m/g, "").length;
}
