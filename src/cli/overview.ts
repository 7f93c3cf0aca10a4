/**
 * Owns what `holdfast` alone says: the few verbs that matter first, with an example each, and the names of all others by
 * what they are for. `holdfast help` says in a line what each of them does.
 */
import { verbs } from "./verbs.ts";

/** In the order in which a newcomer needs them. */
const FIRST: readonly (readonly [verb: string, example: string])[] = [
  ["run", "holdfast run -- npm test"],
  ["ls", "holdfast ls"],
  ["attach", "holdfast attach fix-login"],
  ["diff", "holdfast diff fix-login"],
  ["branch", "holdfast branch fix-login"],
];

/** A verb that is in none of them is shown with the last. */
const GROUPS: readonly (readonly [group: string, verbs: readonly string[]])[] = [
  ["look", ["show", "log", "output", "wait", "queue", "search", "usage"]],
  ["speak", ["send", "shell", "open", "interrupt", "cancel"]],
  ["life", ["new", "pause", "resume", "budget", "close", "archive", "keep", "fork", "rm"]],
  ["work", ["merge", "rebase", "conflicts", "retry", "rewind", "handoff", "teardown", "restore"]],
  ["gate", ["lanes", "trust", "allow"]],
  ["upkeep", ["doctor", "audit", "gc", "export", "import", "serve", "token", "completion", "demo"]],
];

const TITLE = "holdfast: durable, isolated sessions for AI coding agents";
const IDS = "A session goes by its name, by the beginning of its id, or by @: the last one of this repo.";

/** One screen. */
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
    "holdfast help tells what each does, holdfast <verb> --help all of one; holdfast demo is a tour.",
    IDS,
    "",
  ].join("\n");
}

/** Every verb, with what it does. */
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
    `holdfast <verb> --help tells more. ${IDS}`,
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
