/**
 * Owns what a shell offers for the word that is being typed: verbs, the options of a verb and their values,
 * and sessions. It prints one candidate a line, followed by a tab and a description. It prints nothing where
 * the shell does better (files). It runs on every Tab, so it reports no errors and makes no home.
 */
import { existsSync } from "node:fs";
import type { Argument, Command, Option } from "commander";
import { shippedLanes } from "../contract/index.ts";
import type { SessionSummary } from "../home/index.ts";
import { homeManifestPath, present, printable } from "../util/index.ts";
import { verbs } from "./verbs.ts";

interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** `words` are the words after `holdfast`; the last one is being typed. */
export async function complete(words: readonly string[]): Promise<void> {
  const found = await candidatesFor(words).catch(() => []);
  process.stdout.on("error", () => {});
  const lines = found.map(({ word, about }) => `${word}\t${printable(about).slice(0, ABOUT_LENGTH)}\n`);
  process.stdout.write(lines.join(""));
}

const ABOUT_LENGTH = 60;

async function candidatesFor(words: readonly string[]): Promise<Candidate[]> {
  // Some shells, such as bash, split at `=`: there, `--flag=value` comes as three words.
  const typed = words.filter((word, at) => word !== "=" || at === words.length - 1);
  const current = typed.at(-1) === "=" ? "" : (typed.at(-1) ?? "");
  const [name, ...before] = typed.slice(0, -1);
  if (name === undefined || (name === "help" && before.length === 0))
    return beginningWith(current, ofVerbs());
  const verb = verbs.find((one) => one.name === name);
  if (!verb) return [];
  const command = (await verb.load()).command();
  const { pending, isOver, position, values } = readWords(command, before);
  if (isOver) return [];
  const where = scopeOf(values);
  if (pending) return valuesOf(pending, current, where);
  const [, flag, part] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (flag !== undefined) {
    const option = optionOf(command, flag);
    const found = option ? await valuesOf(option, part ?? "", where) : [];
    return found.map(({ word, about }) => ({ word: `${flag}=${word}`, about }));
  }
  if (current.startsWith("-")) return beginningWith(current, ofFlags(command));
  const { registeredArguments: slots } = command;
  const last = slots.at(-1);
  // `wait S…` takes any number of sessions.
  const argument = slots[position] ?? (last?.variadic ? last : undefined);
  return argument ? valuesOf(argument, current, where) : [];
}

const ofVerbs = () => verbs.map(({ name, summary }) => ({ word: name, about: summary }));

function ofFlags(command: Command): Candidate[] {
  const flags = command.options
    .filter(({ hidden }) => !hidden)
    .map((one) => ({ one, about: one.description }));
  return [
    ...flags.flatMap(({ one, about }) => (one.long ? [{ word: one.long, about }] : [])),
    ...flags.flatMap(({ one, about }) => (one.short ? [{ word: one.short, about }] : [])),
    { word: "--help", about: "help for this verb" },
  ];
}

/** How far the words before the typed one lead. */
function readWords(command: Command, words: readonly string[]) {
  let pending: Option | undefined;
  let position = 0;
  const values = new Map<string, string>();
  for (const word of words) {
    if (pending) {
      values.set(pending.attributeName(), word);
      pending = undefined;
    } else if (word === "--") return { pending, isOver: true, position, values };
    else if (word.startsWith("-")) {
      const [flag = "", value] = word.split("=", 2);
      const option = optionOf(command, flag);
      if (option && value !== undefined) values.set(option.attributeName(), value);
      else if (option?.required) pending = option;
    } else position += 1;
  }
  return { pending, isOver: false, position, values };
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => flag === long || flag === short);
}

interface Where {
  readonly home?: string;
  readonly user?: string;
}

function scopeOf(values: ReadonlyMap<string, string>): Where {
  return present({ home: values.get("home"), user: values.get("user") });
}

/** What an argument, or the value of an option, may be. */
async function valuesOf(slot: Argument | Option, current: string, where: Where): Promise<Candidate[]> {
  const choices = slot.argChoices ?? (isLane(slot) ? shippedLanes : undefined);
  if (choices)
    return beginningWith(
      current,
      choices.map((word) => ({ word, about: "" })),
    );
  if (isSession(slot)) return sessionsFor(current, where);
  const kind = "flags" in slot ? undefined : ASKED.find((one) => one === slot.name());
  return kind === undefined ? [] : requestsFor(kind, current, where);
}

/** Arguments that are named after what waits for a person. */
const ASKED = ["approval", "question"] as const;

const SESSIONS: ReadonlySet<string> = new Set(["session", "sessions", "other"]);

/** A repo may define more lanes, in a commit that is not read here. */
const isLane = (slot: Argument | Option) => "flags" in slot && slot.long === "--lane";

/** The name of the argument in the verb's help. */
function isSession(slot: Argument | Option): boolean {
  if (!("flags" in slot)) return SESSIONS.has(slot.name());
  return slot.long === "--session" || /[<[]session[\]>]/.test(slot.flags);
}

const beginningWith = (current: string, all: readonly Candidate[]) =>
  all.filter(({ word }) => word.startsWith(current));

/** The requests that wait for a person, by id. */
async function requestsFor(
  kind: (typeof ASKED)[number],
  current: string,
  where: Where,
): Promise<Candidate[]> {
  const sessions = await sessionsOf(where);
  const all = sessions.flatMap(({ pending, name, id }) =>
    Object.entries(pending)
      .filter(([, asked]) => asked.kind === kind)
      .map(([word]) => ({ word, about: name ?? id })),
  );
  return beginningWith(current, all);
}

/** Newest first: by name, and by as many characters of the id as tell it from the others. */
async function sessionsFor(current: string, where: Where): Promise<Candidate[]> {
  const sessions = await sessionsOf(where);
  const short = shortIds(sessions.map(({ id }) => id));
  return sessions.flatMap((session) => {
    const about = [session.status, session.title].filter(Boolean).join(", ");
    const name = session.name ?? undefined;
    const id = idFor(current, session.id, short.get(session.id) ?? session.id);
    const words = [...(name?.startsWith(current) ? [name] : []), ...(id === undefined ? [] : [id])];
    return words.map((word) => ({ word, about }));
  });
}

async function sessionsOf({ home, user }: Where): Promise<SessionSummary[]> {
  const { defaultHomeDir, listSessions, openHome } = await import("../home/index.ts");
  const dir = home ?? defaultHomeDir();
  if (!existsSync(homeManifestPath(dir))) return [];
  const opened = await openHome({ home: dir, create: false });
  return (await listSessions(opened, present({ user }))).reverse();
}

const PREFIX = "sess_";
const MIN_LENGTH = 4;

/**
 * In the form in which the person began to type it, with `sess_` or without. The whole id, if more was typed
 * than is needed.
 */
function idFor(current: string, id: string, short: string): string | undefined {
  const forms = current.startsWith(PREFIX) ? [PREFIX + short, id] : [short, id.slice(PREFIX.length)];
  return forms.find((form) => form.startsWith(current));
}

/** For each id, without `sess_`, the shortest beginning that no other has. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const tails = ids.map((id) => id.slice(PREFIX.length)).sort();
  return new Map(
    tails.map((tail, at) => {
      const shared = Math.max(
        sharedLength(tail, tails[at - 1] ?? ""),
        sharedLength(tail, tails[at + 1] ?? ""),
      );
      return [PREFIX + tail, tail.slice(0, Math.max(MIN_LENGTH, shared + 1))];
    }),
  );
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
