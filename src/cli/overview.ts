/**
 * Owns what `holdfast` without a verb prints: the most important verbs, each with an example, and the names
 * of all others, grouped by purpose. `holdfast help` describes each verb in one line.
 */
import { verbs } from "./verbs.ts";

/** In the order in which a new user needs them. */
const FIRST: readonly (readonly [verb: string, example: string])[] = [
  ["run", "holdfast run -- npm test"],
  ["ls", "holdfast ls"],
  ["attach", "holdfast attach fix-login"],
  ["diff", "holdfast diff fix-login"],
  ["branch", "holdfast branch fix-login"],
];

/** A verb that is in no group is shown in the last one. */
const GROUPS: readonly (readonly [group: string, verbs: readonly string[]])[] = [
  ["inspect", ["show", "log", "output", "checks", "tools", "wait", "queue", "search", "usage", "agents"]],
  ["communicate", ["send", "answer", "shell", "open", "interrupt", "cancel"]],
  ["manage", ["new", "pause", "resume", "budget", "close", "archive", "keep", "fork", "rm"]],
  ["results", ["merge", "rebase", "conflicts", "retry", "rewind", "handoff", "teardown", "restore"]],
  ["permissions", ["approvals", "approve", "deny", "lanes", "trust", "allow"]],
  ["upkeep", ["doctor", "audit", "gc", "export", "import", "serve", "token", "completion", "demo"]],
];

const TITLE = "holdfast: durable, isolated sessions for AI coding agents";
const IDS = "Name a session by its name, the first characters of its id, or @ for the last one of this repo.";

/** Fits on one screen. */
export function overview(): string {
  const examples = columns(FIRST.map(([, example]) => example));
  const first = FIRST.map(([verb], index) => `  ${examples[index]}  ${summaryOf(verb)}`);
  const groups = groupedVerbs();
  const names = columns(groups.map(([group]) => group));
  const rest = groups.map(([, grouped], index) => `  ${names[index]}  ${grouped.join(", ")}`);
  return [
    TITLE,
    "",
    ...first,
    "",
    "Other verbs:",
    ...rest,
    "",
    "holdfast help lists every verb; holdfast <verb> --help explains one. holdfast demo gives a tour.",
    IDS,
    "",
  ].join("\n");
}

/** Every verb with its description. */
export function fullOverview(): string {
  const width = Math.max(...verbs.map(({ name }) => name.length));
  const line = (name: string) => `  ${name.padEnd(width)}  ${summaryOf(name)}`;
  const groups: [string, readonly string[]][] = [["first", FIRST.map(([verb]) => verb)], ...groupedVerbs()];
  return [
    TITLE,
    "",
    "Usage: holdfast <verb> [options]",
    ...groups.flatMap(([group, names]) => ["", `${group}:`, ...names.map(line)]),
    "",
    `holdfast <verb> --help describes a verb in full. ${IDS}`,
    "",
  ].join("\n");
}

function groupedVerbs(): [string, readonly string[]][] {
  const isThere = (name: string) => verbs.some((verb) => verb.name === name);
  const known = new Set([...FIRST.map(([verb]) => verb), ...GROUPS.flatMap(([, names]) => names)]);
  const others = verbs.map(({ name }) => name).filter((name) => !known.has(name));
  return GROUPS.map(([group, names], index) => {
    const isLast = index === GROUPS.length - 1;
    return [group, [...names.filter(isThere), ...(isLast ? others : [])]];
  });
}

const summaryOf = (name: string) => verbs.find((verb) => verb.name === name)?.summary ?? "";

function columns(texts: readonly string[]): string[] {
  const width = Math.max(...texts.map(({ length }) => length));
  return texts.map((text) => text.padEnd(width));
}
