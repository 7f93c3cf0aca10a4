/**
 * Owns the form of a command in one line: its words as a person would type them.
 */
export const shellText = (words: readonly string[]): string => words.map(shellWord).join(" ");

/** A word without any character that is special to a shell stays as it is. */
const shellWord = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word));

export const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
