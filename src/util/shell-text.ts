/**
 * Owns how the words of a command read in one line: as a person would have to type them.
 */
export const shellText = (words: readonly string[]): string => words.map(shellWord).join(" ");

/** What means nothing to a shell stands as it is. */
const shellWord = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word));

export const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
