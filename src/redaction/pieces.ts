/**
 * Owns redaction of a text that is too long for one look: the rules need memory for all of it, and some fail on many
 * megabytes. It goes through them in windows, each of which begins with what the one before could not be sure of.
 *
 * R3 No cut between two windows hides a secret: what is handed out was seen with as much behind it as any secret is
 *    long, or ends just behind one. What is cut off at the very end takes along what may be half of one.
 */
import type { Redactor } from "../journal/index.ts";
import { withoutSecrets } from "./redaction.ts";

const WINDOW_CHARS = 128 * 1024;
/** Where a window is full of secrets up to its end, a longer one may have a place to cut. */
const MAX_WINDOW_CHARS = 1024 * 1024;
/** More than the longest secret that a rule knows, a private key of 10,000 characters. */
const SEAM_CHARS = 32 * 1024;

export interface LastPiece {
  readonly text: string;
  /** What is not handed out, because it may be half of a secret. */
  readonly left: string;
}

export class RedactedPieces {
  readonly #redact: Redactor;
  #pending = "";
  #windowChars = WINDOW_CHARS;

  constructor(redact: Redactor) {
    this.#redact = redact;
  }

  /** What can be handed out by now. */
  async add(text: string): Promise<string> {
    this.#pending += text;
    let certain = "";
    while (this.#pending.length >= this.#windowChars) certain += await this.#take();
    return certain;
  }

  /** The rest. `isCut`: the text went on, and what follows is not known. */
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

/** How many characters at the end wait for what follows: of a seam that is clean, else all behind the last secret. */
function unsure(window: string, redacted: string): number {
  const clean = sameEnd(window, redacted);
  if (clean <= SEAM_CHARS) return clean;
  const at = window.length - SEAM_CHARS;
  const lineEnd = window.lastIndexOf("\n", at - 1) + 1;
  if (lineEnd > 0 && window.length - lineEnd <= clean) return window.length - lineEnd;
  return isInsidePair(window, at) ? SEAM_CHARS + 1 : SEAM_CHARS;
}

/** At the end of a line or at least of a word: a secret that a window cuts may be found there in part. */
function windowEnd(text: string, most: number): number {
  const from = most - SEAM_CHARS;
  const last = text.slice(from, most);
  const lineEnd = last.lastIndexOf("\n");
  const wordEnd = lineEnd >= 0 ? lineEnd : last.search(/[\s"',;][^\s"',;]*$/);
  if (wordEnd >= 0) return from + wordEnd + 1;
  return isInsidePair(text, most) ? most - 1 : most;
}

/** How many characters at the end are the same, and so in no secret; up to twice a seam, more need not be known. */
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
