/**
 * Owns what a shell may offer for the word that is being typed: verbs, the flags of a verb, what they may be set to, and
 * sessions. One candidate a line, with a tab and what it is behind it; no line where the shell knows better (files).
 *
 * It is called with every Tab: it says nothing of what goes wrong, and makes no home.
 */
import { existsSync } from "node:fs";
import type { Argument, Command, Option } from "commander";
import { shippedLanes } from "../contract/index.ts";
import { homeManifestPath, present, printable } from "../util/index.ts";
import { verbs } from "./verbs.ts";

interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** `words` are those behind `holdfast`, the one that is being typed last. */
export async function complete(words: readonly string[]): Promise<void> {
  const found = await candidatesFor(words).catch(() => []);
  process.stdout.on("error", () => {});
  const lines = found.map(({ word, about }) => `${word}\t${printable(about).slice(0, ABOUT_LENGTH)}\n`);
  process.stdout.write(lines.join(""));
}

const ABOUT_LENGTH = 60;

async function candidatesFor(words: readonly string[]): Promise<Candidate[]> {
  // Where `=` parts words, as in bash, `--flag=value` comes as three.
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
  // Of `wait S…` there may be any number.
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
    { word: "--help", about: "all of this verb" },
  ];
}

/** How far the words before the one that is typed go. */
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

/** What an argument, or the value of a flag, may be. */
async function valuesOf(slot: Argument | Option, current: string, where: Where): Promise<Candidate[]> {
  const choices = slot.argChoices ?? (isLane(slot) ? shippedLanes : undefined);
  if (choices)
    return beginningWith(
      current,
      choices.map((word) => ({ word, about: "" })),
    );
  return isSession(slot) ? sessionsFor(current, where) : [];
}

const SESSIONS: ReadonlySet<string> = new Set(["session", "sessions", "other"]);

/** A repo may have others, which are in a commit. */
const isLane = (slot: Argument | Option) => "flags" in slot && slot.long === "--lane";

/** As its help names it. */
function isSession(slot: Argument | Option): boolean {
  if (!("flags" in slot)) return SESSIONS.has(slot.name());
  return slot.long === "--session" || /[<[]session[\]>]/.test(slot.flags);
}

const beginningWith = (current: string, all: readonly Candidate[]) =>
  all.filter(({ word }) => word.startsWith(current));

/** The newest first: by name, and by as much of the id as tells it from the others. */
async function sessionsFor(current: string, { home, user }: Where): Promise<Candidate[]> {
  const { defaultHomeDir, listSessions, openHome } = await import("../home/index.ts");
  const dir = home ?? defaultHomeDir();
  if (!existsSync(homeManifestPath(dir))) return [];
  const opened = await openHome({ home: dir, create: false });
  const sessions = (await listSessions(opened, present({ user }))).reverse();
  const short = shortIds(sessions.map(({ id }) => id));
  return sessions.flatMap((session) => {
    const about = [session.status, session.title].filter(Boolean).join(", ");
    const name = session.name ?? undefined;
    const id = idFor(current, session.id, short.get(session.id) ?? session.id);
    const words = [...(name?.startsWith(current) ? [name] : []), ...(id === undefined ? [] : [id])];
    return words.map((word) => ({ word, about }));
  });
}

const PREFIX = "sess_";
const MIN_LENGTH = 4;

/** As it was begun, with `sess_` or without it; whole, where more was typed than is needed. */
function idFor(current: string, id: string, short: string): string | undefined {
  const forms = current.startsWith(PREFIX) ? [PREFIX + short, id] : [short, id.slice(PREFIX.length)];
  return forms.find((form) => form.startsWith(current));
}

/** Of each, without `sess_`, the shortest beginning that no other has. */
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
