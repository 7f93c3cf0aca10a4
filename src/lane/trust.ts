/**
 * Owns what was accepted of a repo's file on this machine. It is identified by the hash of all words that
 * widen, so a person accepts them together. Pure; `trust-store.ts` owns the file.
 *
 * trust-2 Words count only if a single acceptance had all of them. Two acceptances are not combined: a file
 *    to copy in and a host to send it to may each be harmless alone.
 */
import type { Json } from "../contract/index.ts";
import { sha256Hex } from "../util/index.ts";
import type { Widening } from "./widening.ts";

export interface Acceptance {
  readonly hash: string;
  /** The words, each in its canonical form. */
  readonly words: readonly string[];
  readonly at: string;
}

export interface Trust {
  /** Oldest first. All are kept, so that switching branches does not ask again. */
  readonly accepted: readonly Acceptance[];
  /** Hashes that a person was asked about and declined. */
  readonly declined: readonly string[];
  /**
   * Hashes of the tools that MCP servers listed when they were first used after the acceptance, by the
   * server's entry.
   */
  readonly pins: Readonly<Record<string, string>>;
}

export const noTrust: Trust = { accepted: [], declined: [], pins: {} };

export interface Judged {
  /** The hash of all words that widen, accepted or not. */
  readonly hash: string;
  /** The words that were not accepted. */
  readonly open: readonly Widening[];
  readonly isDeclined: boolean;
  counts(widening: Widening): boolean;
}

/** The same for the same word, wherever it is in the file. */
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
    pins: trust.pins,
  };
}

/** The first list of an entry's tools is the one that counts from then on. */
export function pinning(trust: Trust, entry: string, hash: string): Trust {
  return Object.hasOwn(trust.pins, entry) ? trust : { ...trust, pins: { ...trust.pins, [entry]: hash } };
}

export function declining(trust: Trust, widenings: readonly Widening[]): Trust {
  return { ...trust, declined: [...new Set([...trust.declined, hashOf(widenings)])] };
}

const wordsOf = (widenings: readonly Widening[]) => [...new Set(widenings.map(wordOf))].sort();
