/**
 * Owns the second look at a text: for secrets that stand directly behind a word or before one (`TOKENghp_…`), which
 * the rules pass over, because their patterns ask for an end of a word there.
 *
 * The rules run as they are; only what the text answers is another. So nothing is found here that its rule would
 * not find if the text were parted there.
 */
import { outermost, type Span } from "./span.ts";

/** The ways in which the patterns ask for the beginning of a word. */
const STARTS = /^(?:\(\?<!\\p\{L\}\)|\\b)/;
/** And for its end; but for secrets that may be of many lengths: these take what goes on for a part of themselves. */
const ENDS = /(?:(?<!\{\d+,\d+\})\(\?!(?:\[[^\]]*\]|\\w)\)|\\b)(?=\||$)/g;
/** `linuxapp-build-test` is a name; a token of this kind goes on with a digit. */
const NO_NAME = String.raw`(?<!\w(?=xapp-(?!\d-)))`;
/** More often than any secret has it; without end, a long text would be more than the search can bear. */
const REPEATED = "{1,1000}";

/** A text in which a pattern matches also where a word goes on; what it matches in a plain one it may leave out. */
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
 * What goes on may just be a long name, of which a pattern takes as many characters as its secrets have. Names are
 * made of words: `npm_package_devDependencies_vitest`. No word has small and capital letters and digits at this length.
 */
function isMixed(match: string): boolean {
  const last = match.slice(match.lastIndexOf("_") + 1);
  return last.length >= MIXED_CHARS && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(last));
}
const MIXED_CHARS = 20;

interface Glued {
  /** Directly behind a word, where that keeps the pattern from matching. */
  readonly behind: RegExp | undefined;
  /** However the text goes on, where that may keep the pattern from matching. */
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

/** Nobody can say where in a word the secret ends: so all of it is taken. */
export function toWordEnds(content: string, spans: readonly Span[]): Span[] {
  let covered = 0;
  return outermost(spans).map((span) => {
    // A long word is gone through once, however many are in it.
    covered = span.end < covered ? covered : wordEnd(content, span.end);
    return { ...span, end: covered };
  });
}

function wordEnd(content: string, from: number): number {
  const gap = /\W/g;
  gap.lastIndex = from;
  return gap.exec(content)?.index ?? content.length;
}
