/**
 * Owns what a session may be called, and how a name is made if none is given. Pure: text in, names out.
 *
 * name-1 A name is a word that a person can type, that a branch can have and that no path can leave: small
 *        letters, digits and hyphens, a letter first, 40 characters at most. It is never the beginning of an
 *        id, which has a digit first.
 */
import { HoldfastError } from "./errors.ts";

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const MAX_LENGTH = 40;
/** A name that is made from a text is shorter, so that it can be typed. */
const MADE_LENGTH = 32;
const COMMAND_WORDS = 3;

export function isSessionName(text: string): boolean {
  return NAME.test(text);
}

export function parseSessionName(text: string): string {
  if (isSessionName(text)) return text;
  throw new HoldfastError("invalid_name", `${JSON.stringify(text)} is not a name for a session`);
}

/**
 * `Fix the login timeout!` → `fix-the-login-timeout`. Undefined if the text has no letter that a name can
 * have.
 */
export function nameFromText(text: string): string | undefined {
  const words = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  while (words.length > 0 && !/^[a-z]/.test(words[0] ?? "")) words.shift();
  let name = words[0]?.slice(0, MADE_LENGTH);
  for (const word of words.slice(1)) {
    if (name === undefined || name.length + 1 + word.length > MADE_LENGTH) break;
    name = `${name}-${word}`;
  }
  return name;
}

/** For a command: its program and its first plain words, without options, assignments and quoted text. */
export function nameFromCommand(command: readonly string[]): string | undefined {
  const [program = "", ...rest] = scriptOf(command) ?? command;
  const words = [program.split("/").at(-1) ?? "", ...rest.filter((word) => PLAIN_WORD.test(word))];
  return nameFromText(words.slice(0, COMMAND_WORDS).join(" "));
}

const PLAIN_WORD = /^[A-Za-z][\w./-]{0,24}$/;
const SHELLS = /(^|\/)(ba|da|z|k)?sh$/;

/** The first command of a shell's text, without the assignments before it. */
function scriptOf([program = "", option = "", script = ""]: readonly string[]): string[] | undefined {
  if (!SHELLS.test(program) || !/^-\w*c$/.test(option)) return undefined;
  const words = (script.split(/[|;&<>\n]/, 1)[0] ?? "").trim().split(/\s+/);
  const first = words.findIndex((word) => !/^\w+=/.test(word) && word !== "exec");
  const [called = "", ...rest] = first < 0 ? [] : words.slice(first);
  return PLAIN_WORD.test(called.replace(/^\.*\//, "")) ? [called, ...rest] : undefined;
}

/** The n-th form of a name: the first is the name itself. */
export function numberedName(name: string, number: number): string {
  const suffix = number === 1 ? "" : `-${number}`;
  return name.slice(0, MAX_LENGTH - suffix.length).replace(/-+$/, "") + suffix;
}
