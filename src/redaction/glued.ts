/**
 * Owns the second search of a text: for secrets directly after a word or before one (`TOKENghp_…`). The rules
 * miss these, because their patterns require a word boundary there.
 *
 * The rules run unchanged; only the text answers their patterns differently. So this finds only what the same
 * rule would find if the text were split there.
 */
import { outermost, type Span } from "./span.ts";

/** The ways in which the patterns require the beginning of a word. */
const STARTS = /^(?:\(\?<!\\p\{L\}\)|\\b)/;
/**
 * And its end. Secrets of many possible lengths are left out: they take the following characters for a part
 * of themselves.
 */
const ENDS = /(?:(?<!\{\d+,\d+\})\(\?!(?:\[[^\]]*\]|\\w)\)|\\b)(?=\||$)/g;
/** `linuxapp-build-test` is a name; a token of this kind continues with a digit. */
const NO_NAME = String.raw`(?<!\w(?=xapp-(?!\d-)))`;
/** More often than in any secret. Without a limit, the search of a long text would take too long. */
const REPEATED = "{1,1000}";

/** A text in which a pattern also matches inside a longer word. Its match in a plain text may be left out. */
export class GluedText extends String {
  override *matchAll(pattern: RegExp): Generator<RegExpExecArray, undefined> {
    const { behind, before } = glued(pattern);
    const text = this.toString();
    if (behind) yield* text.matchAll(behind);
    if (!before) return;
    for (const match of text.matchAll(before)) {
      const next = text.charAt(match.index + match[0].length);
      if (!/\w/.test(next) || isMixed(match[0])) yield match;
    }
  }
}

/**
 * The longer word may just be a long name, from which a pattern takes as many characters as its secrets have.
 * Names are made of words: `npm_package_devDependencies_vitest`. No word of this length mixes small letters,
 * capitals and digits.
 */
function isMixed(match: string): boolean {
  const last = match.slice(match.lastIndexOf("_") + 1);
  return last.length >= MIXED_CHARS && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(last));
}
const MIXED_CHARS = 20;

interface Glued {
  /** Matches directly after a word, for a pattern that does not. */
  readonly behind: RegExp | undefined;
  /** Matches whatever follows, for a pattern that does not. */
  readonly before: RegExp | undefined;
}

/** There are as many as the rules have patterns. */
const known = new Map<string, Glued>();

function glued({ source, flags }: RegExp): Glued {
  const key = `${flags} ${source}`;
  const made = known.get(key) ?? make(source.replaceAll(")+", `)${REPEATED}`), flags);
  known.set(key, made);
  return made;
}

function make(source: string, flags: string): Glued {
  const hasStart = STARTS.test(source);
  const hasEnd = source.search(ENDS) >= 0;
  const open = source.replace(STARTS, NO_NAME).replace(ENDS, "");
  return {
    behind: hasStart ? new RegExp(source.replace(STARTS, behindWord), flags) : undefined,
    before: hasEnd ? new RegExp(open, flags) : undefined,
  };
}

function behindWord(start: string): string {
  return NO_NAME + (start === "\\b" ? "(?<=\\w)" : "(?<=\\p{L})");
}

/** It is unknown where in a word the secret ends, so all of it is taken. */
export function toWordEnds(content: string, spans: readonly Span[]): Span[] {
  let covered = 0;
  return outermost(spans).map((span) => {
    // A long word is walked through once, however many spans are in it.
    covered = span.end < covered ? covered : wordEnd(content, span.end);
    return { ...span, end: covered };
  });
}

function wordEnd(content: string, from: number): number {
  const gap = /\W/g;
  gap.lastIndex = from;
  return gap.exec(content)?.index ?? content.length;
}
