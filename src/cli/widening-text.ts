/**
 * Owns how the words of a repo's file that widen what a task may do are printed. They come from a repo, so
 * all of them are made printable.
 */
import type { Json, JsonObject } from "../contract/index.ts";
import type { Widening } from "../lane/index.ts";
import { printable } from "../util/index.ts";

type Word = Pick<Widening, "key" | "value">;

/** On one line, as the file has it. */
export function wideningText({ key, value }: Word): string {
  return printable(`${key}: ${valueText(value)}`);
}

/** One line each: the word, and what it lets a task do. */
export function wideningLines(words: readonly Widening[]): string[] {
  const texts = words.map(wideningText);
  const width = Math.min(MAX_WIDTH, Math.max(0, ...texts.map(({ length }) => length)));
  return words.map((word, at) => `  ${texts[at]?.padEnd(width)}  ${meaning(word)}`);
}

const MAX_WIDTH = 50;

function meaning({ key, value, lane, agent }: Widening): string {
  if (agent !== undefined) return agentMeaning(key, printable(agent));
  if (key === "capsule.include") return "every task gets a copy of this file from your checkout";
  if (key === "setup_hosts") return "capsule.setup may reach it";
  if (key === "lane") return "tasks get this lane by default";
  const named = printable(lane ?? "");
  if (key.endsWith(".hosts")) return `tasks in lane ${named} may reach it`;
  const tools = externalIn(value);
  const which = tools.length > 0 ? printable(tools.join(", ")) : "no tool so far";
  return `tasks in lane ${named} use external tools without asking you: ${which}`;
}

function agentMeaning(key: string, agent: string): string {
  if (key.endsWith(".env")) return `tasks of agent ${agent} get this variable of yours`;
  if (key.endsWith(".lane")) return `tasks of agent ${agent} get this lane by default`;
  return `sessions of agent ${agent} may spend more than your settings say`;
}

function valueText(value: Json): string {
  if (typeof value === "string") return value;
  return JSON.stringify(isObject(value) && "approval" in value ? value["approval"] : value);
}

function externalIn(value: Json): string[] {
  const tools = isObject(value) ? value["external"] : undefined;
  return Array.isArray(tools) ? tools.map(String) : [];
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
