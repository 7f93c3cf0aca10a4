/**
 * Owns what a request costs in dollars: by the user's own prices (`prices` in settings.yaml), or else by the
 * list that comes with Holdfast. A model gets the price of the longest listed name that its own name begins
 * with, up to a separator such as a hyphen: `claude-sonnet-4-5-20250929` gets that of `claude-sonnet-4-5`. A
 * model that matches no name has no price, and its money is not counted.
 */
import type { Budget } from "../contract/index.ts";
import { LISTED, type ListedPrice } from "./price-list.ts";
import type { Usage } from "./reading.ts";

/** In dollars for a million tokens, as in settings.yaml. Cached tokens cost as much as others unless set. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number | undefined;
  readonly cache_write?: number | undefined;
}

export class Prices {
  readonly #own: ReadonlyMap<string, ListedPrice>;

  /**
   * The user's prices, by the names of models. If one matches, it counts, even when a longer listed name
   * matches too.
   */
  constructor(own: Readonly<Record<string, OwnPrice>> = {}) {
    this.#own = new Map(Object.entries(own).map(([model, price]) => [model, asListed(price)]));
  }

  /** Undefined for a model without a price. */
  of(model: string): ListedPrice | undefined {
    return longest(this.#own, model) ?? longest(LISTED, model);
  }
}

function asListed({ input, output, cache_read = input, cache_write }: OwnPrice): ListedPrice {
  const cacheWrite = cache_write ?? input;
  return { input, output, cacheRead: cache_read, cacheWrite, isHourFree: cache_write === undefined };
}

function longest<T>(prices: ReadonlyMap<string, T>, model: string): T | undefined {
  const names = [...prices.keys()].filter((name) => isOf(model, name));
  const name = names.sort((a, b) => b.length - a.length)[0];
  return name === undefined ? undefined : prices.get(name);
}

const isOf = (model: string, name: string) =>
  model.startsWith(name) && (model.length === name.length || "-@:/".includes(model[name.length] ?? ""));

/** Anthropic takes twice the price of its input for an hour, and one and a quarter for five minutes. */
const HOURLY_SURCHARGE = 2 / 1.25 - 1;
const MILLION = 1_000_000;

/** In the form of `usage_metered`. */
export function priced(
  model: string,
  usage: Usage,
  prices: Prices,
): { readonly isPriced: boolean; readonly usd?: number } {
  const listed = prices.of(model);
  if (!listed) return { isPriced: false };
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, hourlyCacheWriteTokens = 0 } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  const price = listed.beyond && prompt > listed.beyond.promptTokens ? listed.beyond : listed;
  const surcharge = listed.isHourFree ? 0 : HOURLY_SURCHARGE;
  const usd =
    inputTokens * price.input +
    outputTokens * price.output +
    cacheReadTokens * price.cacheRead +
    (cacheWriteTokens + hourlyCacheWriteTokens * surcharge) * price.cacheWrite;
  return { isPriced: true, usd: usd / MILLION };
}

/** False: the budget has a limit in money, and the price of this model is unknown. */
export function canCount({ usd }: Budget, model: string, prices: Prices): boolean {
  return usd === undefined || prices.of(model) !== undefined;
}
