/**
 * Owns the guess at which word a person meant when they mistyped one: a word that begins like it, or one that
 * is one or two typing errors away.
 */

/** Empty if no word is near enough. */
export function closest(word: string, candidates: readonly string[]): string[] {
  const typed = word.toLowerCase();
  const begun = typed.length > 1 ? candidates.filter((one) => one.startsWith(typed)) : [];
  if (begun.length > 0) return begun;
  const near = candidates.map((one) => ({ one, slips: slipsBetween(typed, one) }));
  const least = Math.min(...near.map(({ slips }) => slips));
  // In a short word, most letters have to be right.
  if (least > Math.min(2, Math.floor(typed.length / 2))) return [];
  return near.filter(({ slips }) => slips === least).map(({ one }) => one);
}

/** Counts letters that are wrong, missing, added or swapped. */
function slipsBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const options = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (isSwapped) options.push((before[j - 2] ?? 0) + 1);
      row.push(Math.min(...options));
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
