/**
 * Owns what is read from one part of an answer, and how parts are combined: the last value of each field
 * counts, because all APIs repeat their sums as they grow.
 */
export interface Usage {
  /** Without cached tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Those of them that last an hour, which cost more. */
  readonly hourlyCacheWriteTokens?: number;
}

/** What one part reports; unknown fields are missing. */
export interface Reading {
  readonly model?: string;
  readonly usage?: Partial<Usage>;
}

const nothing: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** The maximum length of a name in a record. */
const MAX_MODEL_LENGTH = 200;

type Fields = Readonly<Record<string, unknown>>;

/** An empty object for everything that is not an object. */
export function fieldsIn(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Undefined for everything that is not a count. */
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

/** Undefined when nothing was reported. */
export function usageIn({ usage }: Reading): Usage | undefined {
  return usage && { ...nothing, ...usage };
}
