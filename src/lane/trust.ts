/**
 * Owns what was accepted of a repo's file on this machine: by the hash of all of its words that widen, so that a person
 * accepts them together. Pure: the file that it is kept in is `trust-store.ts`'s.
 *
 * T9 Words count if one acceptance had all of them. Those of two are not added up: a file to copy in and a host to send
 *    it to may each be harmless.
 */
import type { Json } from "../contract/index.ts";
import { sha256Hex } from "../util/index.ts";
import type { Widening } from "./widening.ts";

export interface Acceptance {
  readonly hash: string;
  /** Each word, in its canonical form. */
  readonly words: readonly string[];
  readonly at: string;
}

export interface Trust {
  /** Oldest first; all of them, so that a change of branches asks nothing again. */
  readonly accepted: readonly Acceptance[];
  /** Hashes that a person was asked about and said no to. */
  readonly declined: readonly string[];
}

export const noTrust: Trust = { accepted: [], declined: [] };

export interface Judged {
  /** Of all words that widen, accepted or not. */
  readonly hash: string;
  /** Those that were not accepted. */
  readonly open: readonly Widening[];
  readonly isDeclined: boolean;
  counts(widening: Widening): boolean;
}

/** The same for the same word, wherever it stands in the file. */
export const wordOf = ({ key, value }: Widening) => JSON.stringify([key, value]);

export function readWord(word: string): Pick<Widening, "key" | "value"> {
  const [key, value]: Json[] = JSON.parse(word);
  return { key: String(key), value: value ?? null };
}

export function hashOf(widenings: readonly Widening[]): string {
  return sha256Hex(JSON.stringify(wordsOf(widenings)));
}

export function judge({ accepted, declined }: Trust, widenings: readonly Widening[]): Judged {
  const words = wordsOf(widenings);
  const hash = hashOf(widenings);
  // A file that asks for less than was accepted asks for nothing new.
  const shared = accepted.map(({ words: had }) => words.filter((word) => had.includes(word)));
  const best = new Set(shared.reduce((most, one) => (one.length >= most.length ? one : most), []));
  const counts = (widening: Widening) => best.has(wordOf(widening));
  return {
    hash,
    open: widenings.filter((widening) => !counts(widening)),
    isDeclined: declined.includes(hash),
    counts,
  };
}

export function accepting(trust: Trust, widenings: readonly Widening[], at: string): Trust {
  const hash = hashOf(widenings);
  const others = trust.accepted.filter((one) => one.hash !== hash);
  return {
    accepted: [...others, { hash, words: wordsOf(widenings), at }],
    declined: trust.declined.filter((one) => one !== hash),
  };
}

export function declining(trust: Trust, widenings: readonly Widening[]): Trust {
  return { ...trust, declined: [...new Set([...trust.declined, hashOf(widenings)])] };
}

const wordsOf = (widenings: readonly Widening[]) => [...new Set(widenings.map(wordOf))].sort();
