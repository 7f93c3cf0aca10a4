/**
 * Owns the form of a finding in a text.
 */

/** A secret in a text, and the rule that found it. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly rule: string;
}

/** The spans that are not inside another one, in order of where they begin. */
export function outermost(spans: readonly Span[]): Span[] {
  let covered = 0;
  return [...spans]
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ end }) => {
      const isInside = end <= covered;
      covered = Math.max(covered, end);
      return !isInside;
    });
}
