/**
 * Owns what a program may send to the terminal of a person who watches it. It may draw, set modes, colours,
 * titles and links, and ask questions whose answers are numbers: without these, real programs draw wrongly,
 * or hang.
 *
 * window-1 No program in a window reads or sets what belongs to the person: the clipboard, and what else is
 *          on the screen. Nor can it have text of its own choice typed, by a title that it asks back or by a
 *          key that it redefines.
 */

export interface Rule {
  readonly isLetThrough: boolean;
  /** The terminal will answer. */
  readonly isQuestion: boolean;
  /** The terminal may say something because of it: now, or when a person moves the mouse. */
  readonly isTold?: boolean;
  /** It changes a colour until another program changes it back. */
  readonly isColour?: boolean;
}

const DROPPED: Rule = { isLetThrough: false, isQuestion: false };
const SHOWN: Rule = { isLetThrough: true, isQuestion: false };
const ASKED: Rule = { isLetThrough: true, isQuestion: true };
const TOLD: Rule = { isLetThrough: true, isQuestion: false, isTold: true };

/** Reports of a window title and an icon name, both of which the program can set to any text. */
const TITLE_REPORTS: readonly number[] = [20, 21];
/** The window's place and size, in the order of xterm's numbers. */
const SIZE_REPORTS = { first: 11, last: 19 };
/** Some terminals cut larger numbers to 16 or 32 bits, and read another number. */
const MAX_NUMBER = 32_767;
/** Logging of the screen to a file, and another kind of terminal. Without a `?`: a locked keyboard. */
const HARMFUL_MODES: readonly string[] = ["?46", "?38", "2"];
/** The mouse, the focus, the size, the colours of a desktop, keys in a form of their own. */
const TELLING_MODES: readonly string[] = [
  ...["?9", "?1000", "?1001", "?1002", "?1003", "?1004", "?2031", "?2048", "?9001"],
];
const NUMBERS = /^[\d;:]*$/;
/** One answer, and one alone. */
const STATUS = /^\??\d*$/;
/** Questions whose answers are numbers: its type, status, cursor, modes, keyboard and colours. */
const QUESTIONS =
  /^(?:[>=?]?[\d;]*c|\??[\d;]*n|\?[\d;]*[ugm]|\??[\d;]*\$p|>[\d;]*q|\?[\d;]*S|[\d;]*(?:x|\$[wu]|#R|&u|"v|'\|))$/;
/** No terminal answers these. Others may be questions that are not known here. */
const SILENT =
  /^(?:[\d;:]*[@-HI-MPSTXZ`abd-hlmqrsu]|\?[\d;]*[JKhlrs]|>[\d;]*[mnpsuT]|[<=][\d;]*u|[\d;]*(?: q|!p|\$r|#[pqPQ{}]))$/;

/**
 * `ESC`, intermediate bytes, and the final letter. Not for those that open a string or a control sequence.
 */
export function ruleOfEscape(held: string, final: string): Rule {
  // Another encoding, or answers in it: eight-bit controls, which we take out, would then be read. Also a string of
  // the program screen.
  if (/^[% !]/.test(held)) return DROPPED;
  // An old form of a question; and the end of a string, which has one already.
  return held === "" && (final === "Z" || final === "\\") ? DROPPED : SHOWN;
}

/** `CSI`, its parameters and intermediate bytes, and the final letter. */
export function ruleOfControl(held: string, final: string): Rule {
  const [first = 0] = held.split(/[;:]/).map(Number);
  switch (final) {
    case "t":
      if (!NUMBERS.test(held) || hasLargeNumber(held) || TITLE_REPORTS.includes(first)) return DROPPED;
      return first >= SIZE_REPORTS.first && first <= SIZE_REPORTS.last ? ASKED : SHOWN;
    // Printing; sums of what is on the screen, cell by cell if need be; texts that were stored as macros; what the
    // console of Linux is and which one is seen.
    case "i":
    case "y":
    case "z":
    case "]":
      return DROPPED;
    case "n":
      return held.startsWith(">") ? SHOWN : STATUS.test(held) ? ASKED : DROPPED;
    case "h":
      return ruleOfModes(held);
    // Another level of the terminal, in which answers may be in signs of eight bits.
    case "p":
      if (held.endsWith('"')) return DROPPED;
      break;
    // The attributes of what is on the screen.
    case "|":
      if (held.endsWith("#")) return DROPPED;
      break;
  }
  if (QUESTIONS.test(held + final)) return ASKED;
  return SILENT.test(held + final) ? SHOWN : TOLD;
}

function ruleOfModes(held: string): Rule {
  if (hasLargeNumber(held)) return DROPPED;
  const prefix = held.startsWith("?") ? "?" : "";
  const modes = held
    .slice(prefix.length)
    .split(/[;:]/)
    .map((mode) => `${prefix}${Number(mode)}`);
  if (modes.some((mode) => HARMFUL_MODES.includes(mode))) return DROPPED;
  return modes.some((mode) => TELLING_MODES.includes(mode)) ? TOLD : SHOWN;
}

const hasLargeNumber = (held: string) =>
  (held.match(/\d+/g) ?? []).some((number) => Number(number) > MAX_NUMBER);

/** Sent to a terminal when no other question is: whether it is well. */
export const isStatusQuestion = (held: string, final: string) => final === "n" && /^0*5$/.test(held);

/**
 * Titles, a link, a notification and a progress bar (not ConEmu's macros), the pointer, marks of a prompt.
 */
const TEXTS = /^(?:[012];|8;|9;(?:4;|(?!\d+(?:;|$)))|22;|777;notify;|133;)/;
const COLOURS = /^(?:4|5|1\d);/;
const COLOURS_BACK = /^(?:10[45]|11\d)(?:;|$)/;

/** A shape of the pointer that is asked for. */
const POINTER_ASKED = /^22;\?/;

/** By how it begins, or all of it where it is shorter than `most`. Others reach clipboards, files, fonts and editors. */
export function ruleOfTitle(beginning: string, most: number): Rule {
  if (COLOURS.test(beginning)) {
    const isCut = beginning.length >= most;
    return {
      ...(isCut || beginning.includes("?") ? ASKED : SHOWN),
      isColour: isCut || setsColour(beginning),
    };
  }
  if (POINTER_ASKED.test(beginning)) return ASKED;
  return TEXTS.test(beginning) || COLOURS_BACK.test(beginning) ? SHOWN : DROPPED;
}

/** Whether one of its colours is no question. The palette's have a number before each. */
function setsColour(text: string): boolean {
  const [kind = "", ...words] = text.split(";");
  const colours = kind.length > 1 ? words : words.filter((_, index) => index % 2 === 1);
  return colours.some((colour) => colour !== "?");
}

/** Pictures, and two questions about what the terminal can do. The others define keys, or pass on what they hold. */
export function ruleOfDeviceString(beginning: string): Rule {
  if (/^[\d;]*q/.test(beginning)) return SHOWN;
  return /^\+q[\dA-Fa-f;]*$/.test(beginning) || /^\$q[ "]?[a-z]$/.test(beginning) ? ASKED : DROPPED;
}
