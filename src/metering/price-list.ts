/**
 * Owns the list of prices that comes with Holdfast: list prices of Anthropic, OpenAI and Google for their models, as of
 * 16 November 2026. Temporary discounts are left out. A cache write is one that lasts five minutes; one that lasts an
 * hour costs more, by a rate that is the same for all models. Prices change, and this list does not; `prices` in settings.yaml overrides
 * it.
 */

/** In dollars for a million tokens. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface ListedPrice extends Price {
  /** A cache write that lasts an hour costs no more than another. */
  readonly isHourFree?: boolean;
  /** For prompts that are longer than this. */
  readonly beyond?: Price & { readonly promptTokens: number };
}

const price = (input: number, output: number, cacheRead = input, cacheWrite = input): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite,
});

const beyond = (promptTokens: number, short: Price, long: Price): ListedPrice => ({
  ...short,
  beyond: { promptTokens, ...long },
});

/** Longer prompts cost twice as much to read, and one and a half times as much to write. */
const dearer = (promptTokens: number, short: Price): ListedPrice =>
  beyond(
    promptTokens,
    short,
    price(2 * short.input, 1.5 * short.output, 2 * short.cacheRead, 2 * short.cacheWrite),
  );

const LONG = 200_000;
const OPENAI_LONG = 272_000;

const opus5 = price(5, 25, 0.5, 6.25);
const opus4 = price(15, 75, 1.5, 18.75);
const sonnet5 = price(2, 10, 0.2, 2.5);
const sonnet4 = price(3, 15, 0.3, 3.75);

const ANTHROPIC: Readonly<Record<string, ListedPrice>> = {
  "claude-fable-5-1": price(10, 50, 0.25, 12.5),
  "claude-fable-5": price(10, 50, 1, 12.5),
  "claude-mythos-5-1": price(10, 50, 0.25, 12.5),
  "claude-mythos-5": price(10, 50, 1, 12.5),
  "claude-opus-5-5": price(4, 20, 0.2, 5),
  "claude-opus-5": opus5,
  "claude-opus-4-8": opus5,
  "claude-opus-4-7": opus5,
  "claude-opus-4-6": opus5,
  "claude-opus-4-5": opus5,
  "claude-opus-4": opus4,
  "claude-3-opus": opus4,
  "claude-sonnet-5-5": price(2, 10, 0.1, 2.5),
  "claude-sonnet-5": sonnet5,
  "claude-sonnet-4-6": sonnet4,
  "claude-sonnet-4-5": dearer(LONG, sonnet4),
  "claude-sonnet-4": dearer(LONG, sonnet4),
  "claude-3-7-sonnet": sonnet4,
  "claude-3-5-sonnet": sonnet4,
  "claude-haiku-5-5": beyond(100_000, price(0.1, 0.5, 0.01, 0.125), price(0.5, 2.5, 0.05, 0.625)),
  "claude-haiku-4-5": price(1, 5, 0.1, 1.25),
  "claude-3-5-haiku": price(0.8, 4, 0.08, 1),
  "claude-3-haiku": price(0.25, 1.25, 0.03, 0.3),
};

const OPENAI: Readonly<Record<string, ListedPrice>> = {
  "gpt-5.6": dearer(OPENAI_LONG, price(5, 30, 0.5, 6.25)),
  "gpt-5.6-terra": dearer(OPENAI_LONG, price(2, 12, 0.2, 2.5)),
  "gpt-5.6-luna": dearer(OPENAI_LONG, price(0.2, 1.2, 0.02, 0.25)),
  "gpt-5.5": dearer(OPENAI_LONG, price(5, 30, 0.5)),
  "gpt-5.5-pro": dearer(OPENAI_LONG, price(30, 180, 3)),
  "gpt-5.4": dearer(OPENAI_LONG, price(2.5, 15, 0.25)),
  "gpt-5.4-pro": dearer(OPENAI_LONG, price(30, 180, 3)),
  "gpt-5.4-mini": price(0.75, 4.5, 0.075),
  "gpt-5.4-nano": price(0.2, 1.25, 0.02),
  "gpt-5.3": price(1.75, 14, 0.175),
  "gpt-5.2": price(1.75, 14, 0.175),
  "gpt-5.2-pro": price(21, 168),
  "gpt-5.1": price(1.25, 10, 0.125),
  "gpt-5.1-codex-mini": price(0.25, 2, 0.025),
  "gpt-5": price(1.25, 10, 0.125),
  "gpt-5-pro": price(15, 120),
  "gpt-5-mini": price(0.25, 2, 0.025),
  "gpt-5-nano": price(0.05, 0.4, 0.005),
  "gpt-4.1": price(2, 8, 0.5),
  "gpt-4.1-mini": price(0.4, 1.6, 0.1),
  "gpt-4.1-nano": price(0.1, 0.4, 0.025),
  "gpt-4o": price(2.5, 10, 1.25),
  "gpt-4o-mini": price(0.15, 0.6, 0.075),
  o3: price(2, 8, 0.5),
  "o3-pro": price(20, 80),
  "o3-mini": price(1.1, 4.4, 0.55),
  "o4-mini": price(1.1, 4.4, 0.275),
  "codex-mini": price(1.5, 6, 0.375),
  "text-embedding-3-small": price(0.02, 0),
  "text-embedding-3-large": price(0.13, 0),
  "text-embedding-ada-002": price(0.1, 0),
};

const GOOGLE: Readonly<Record<string, ListedPrice>> = {
  "gemini-3.8-flash": price(1.5, 7.5, 0.15),
  "gemini-3.7-flash": price(1.5, 7.5, 0.15),
  "gemini-3.6-flash": price(1.5, 7.5, 0.15),
  "gemini-3.5-flash": price(1.5, 9, 0.15),
  "gemini-3.5-flash-lite": price(0.3, 2.5, 0.03),
  "gemini-3.1-pro": dearer(LONG, price(2, 12, 0.2)),
  "gemini-3.1-flash-lite": price(0.25, 1.5, 0.025),
  "gemini-3-pro": dearer(LONG, price(2, 12, 0.2)),
  "gemini-3-flash": price(0.5, 3, 0.05),
  "gemini-2.5-pro": dearer(LONG, price(1.25, 10, 0.125)),
  "gemini-2.5-flash": price(0.3, 2.5, 0.03),
  "gemini-2.5-flash-lite": price(0.1, 0.4, 0.01),
  "gemini-2.0-flash": price(0.1, 0.4, 0.025),
  "gemini-2.0-flash-lite": price(0.075, 0.3, 0.0187),
  "gemini-embedding-001": price(0.15, 0),
};

export const LISTED: ReadonlyMap<string, ListedPrice> = new Map(
  Object.entries({ ...ANTHROPIC, ...OPENAI, ...GOOGLE }),
);
