/**
 * Owns redaction of a text that is too long for one search: the rules need memory for all of it, and some
 * fail on many megabytes. It goes through the text in windows. Each begins with the part that the one before
 * could not decide.
 *
 * redaction-3 A cut between two windows hides no secret: text is returned only if as much text after it was
 *    searched as the longest secret has, or if it ends directly after a secret. At the very end of a cut
 *    text, what may be half of a secret is left out.
 */
import type { Redactor } from "../journal/index.ts";
import { withoutSecrets } from "./redaction.ts";

const WINDOW_CHARS = 128 * 1024;
/** A window that is full of secrets up to its end may grow to this length until there is a place to cut. */
const MAX_WINDOW_CHARS = 1024 * 1024;
/** More than the longest secret that a rule knows, a private key of 10,000 characters. */
const SEAM_CHARS = 32 * 1024;

export interface LastPiece {
  readonly text: string;
  /** What is left out because it may be half of a secret. */
  readonly left: string;
}

export class RedactedPieces {
  readonly #redact: Redactor;
  #pending = "";
  #windowChars = WINDOW_CHARS;

  constructor(redact: Redactor) {
    this.#redact = redact;
  }

  /** Returns what is decided by now. */
  async add(text: string): Promise<string> {
    this.#pending += text;
    let certain = "";
    while (this.#pending.length >= this.#windowChars) certain += await this.#take();
    return certain;
  }

  /** The rest. `isCut`: the text continued, and what follows is unknown. */
  async end(isCut: boolean): Promise<LastPiece> {
    const redacted = await withoutSecrets(this.#redact, this.#pending);
    const count = isCut ? unsure(this.#pending, redacted) : 0;
    return { text: dropLast(redacted, count), left: this.#pending.slice(this.#pending.length - count) };
  }

  async #take(): Promise<string> {
    const window = this.#pending.slice(0, windowEnd(this.#pending, this.#windowChars));
    const redacted = await withoutSecrets(this.#redact, window);
    const isFull = sameEnd(window, redacted) <= SEAM_CHARS;
    if (isFull && this.#windowChars < MAX_WINDOW_CHARS) {
      this.#windowChars *= 2;
      return "";
    }
    const count = unsure(window, redacted);
    this.#pending = this.#pending.slice(window.length - count);
    this.#windowChars = WINDOW_CHARS;
    return dropLast(redacted, count);
  }
}

/**
 * How many characters at the end wait for more text: those of a clean seam, otherwise all after the last
 * secret.
 */
function unsure(window: string, redacted: string): number {
  const clean = sameEnd(window, redacted);
  if (clean <= SEAM_CHARS) return clean;
  const at = window.length - SEAM_CHARS;
  const lineEnd = window.lastIndexOf("\n", at - 1) + 1;
  if (lineEnd > 0 && window.length - lineEnd <= clean) return window.length - lineEnd;
  return isInsidePair(window, at) ? SEAM_CHARS + 1 : SEAM_CHARS;
}

/** At the end of a line or at least of a word: of a secret that a window cuts, a part might be found. */
function windowEnd(text: string, most: number): number {
  const from = most - SEAM_CHARS;
  const last = text.slice(from, most);
  const lineEnd = last.lastIndexOf("\n");
  const wordEnd = lineEnd >= 0 ? lineEnd : last.search(/[\s"',;][^\s"',;]*$/);
  if (wordEnd >= 0) return from + wordEnd + 1;
  return isInsidePair(text, most) ? most - 1 : most;
}

/**
 * How many characters at the end are unchanged, and so in no secret. It counts up to two seams: more is never
 * needed.
 */
function sameEnd(window: string, redacted: string): number {
  const most = Math.min(window.length, redacted.length, 2 * SEAM_CHARS);
  let count = 0;
  while (count < most && window.at(-1 - count) === redacted.at(-1 - count)) count += 1;
  return count;
}

function isInsidePair(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(at - 1, at + 1));
}

const dropLast = (text: string, count: number) => text.slice(0, text.length - count);
