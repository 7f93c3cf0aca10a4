/**
 * Owns which files the words of a command may mean. A command is not understood: a file that it names may be its
 * program, its input, or neither. Pure.
 */
import { posix } from "node:path";

const MAX_WORDS = 100;

/** Paths from the top, and from a directory that an earlier word names. */
export function namedIn(command: string): string[] {
  const words = command
    .split(/[\s;&|()<>{}"'`=$]+/)
    .filter(Boolean)
    .slice(0, MAX_WORDS);
  return words.flatMap((word, at) =>
    [".", ...words.slice(0, at)].map((dir) => posix.normalize(posix.join(dir, word))),
  );
}
