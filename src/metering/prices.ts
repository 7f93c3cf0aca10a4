/**
 * Owns what a request costs in dollars: by the user's own prices (`prices` in settings.yaml), else by the list that is
 * shipped. A model has the price of the longest name there that its own begins with, up to a hyphen or the like:
 * `claude-sonnet-4-5-20250929` that of `claude-sonnet-4-5`. One that no name fits has none, and no money is counted.
 */
import type { Budget } from "../contract/index.ts";
import { LISTED, type ListedPrice } from "./price-list.ts";
import type { Usage } from "./reading.ts";

/** In dollars for a million tokens, as settings.yaml has it; tokens of a cache cost as much as others, unless said. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number | undefined;
  readonly cache_write?: number | undefined;
}

export class Prices {
  readonly #own: ReadonlyMap<string, ListedPrice>;

  /** The user's, by the names of models: where one fits, it counts, however much longer a listed name is. */
  constructor(own: Readonly<Record<string, OwnPrice>> = {}) {
    this.#own = new Map(Object.entries(own).map(([model, price]) => [model, asListed(price)]));
  }

  /** Undefined for a model that has no price. */
  of(model: string): ListedPrice | undefined {
    return longest(this.#own, model) ?? longest(LISTED, model);
  }
}

function asListed({ input, output, cache_read = input, cache_write = input }: OwnPrice): ListedPrice {
  return { input, output, cacheRead: cache_read, cacheWrite: cache_write };
}

function longest<T>(prices: ReadonlyMap<string, T>, model: string): T | undefined {
  const names = [...prices.keys()].filter((name) => isOf(model, name));
  const name = names.sort((a, b) => b.length - a.length)[0];
  return name === undefined ? undefined : prices.get(name);
}

const isOf = (model: string, name: string) =>
  model.startsWith(name) && (model.length === name.length || "-@:/".includes(model[name.length] ?? ""));

const MILLION = 1_000_000;

/** As `usage_metered` has it. */
export function priced(
  model: string,
  usage: Usage,
  prices: Prices,
): { readonly isPriced: boolean; readonly usd?: number } {
  const listed = prices.of(model);
  if (!listed) return { isPriced: false };
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const prompt = inputTokens + cacheReadTokens + cacheWriteTokens;
  const price = listed.beyond && prompt > listed.beyond.promptTokens ? listed.beyond : listed;
  const usd =
    inputTokens * price.input +
    outputTokens * price.output +
    cacheReadTokens * price.cacheRead +
    cacheWriteTokens * price.cacheWrite;
  return { isPriced: true, usd: usd / MILLION };
}

/** False: the budget has a limit in money, and of this model nobody knows what it costs. */
export function canCount({ usd }: Budget, model: string, prices: Prices): boolean {
  return usd === undefined || prices.of(model) !== undefined;
}
