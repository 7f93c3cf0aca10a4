/**
 * Owns what is read of one part of an answer, and how parts add up: of each field the last word counts, because every
 * API repeats its sums as they grow.
 */
export interface Usage {
  /** Without those of a cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** What one part says; what it does not know is missing. */
export interface Reading {
  readonly model?: string;
  readonly usage?: Partial<Usage>;
}

const nothing: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** A name in a record has so many characters at most. */
const MAX_MODEL_LENGTH = 200;

type Fields = Readonly<Record<string, unknown>>;

/** An empty object for everything that is none. */
export function fieldsIn(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Undefined for everything that is no count. */
export function countIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

export function readingOf(
  model: unknown,
  counts: { readonly [K in keyof Usage]: number | undefined },
): Reading {
  const usage = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
  const isNamed = typeof model === "string" && model !== "";
  return {
    ...(isNamed && { model: model.slice(0, MAX_MODEL_LENGTH) }),
    ...(Object.keys(usage).length > 0 && { usage }),
  };
}

export function withReading(before: Reading, { usage, ...rest }: Reading): Reading {
  return { ...before, ...rest, ...(usage && { usage: { ...before.usage, ...usage } }) };
}

/** Undefined where nothing was said of it. */
export function usageIn({ usage }: Reading): Usage | undefined {
  return usage && { ...nothing, ...usage };
}
