/**
 * What requests cost, by the shipped list and by the user's own prices.
 */
import { describe, expect, it } from "vitest";
import { parseSettings } from "../../src/config/index.ts";
import { canCount, Prices, priced } from "../../src/metering/index.ts";

const million = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const few = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 10_000, cacheWriteTokens: 100 };

describe("prices", () => {
  it("are those of the longest listed name that the model's name begins with", () => {
    const prices = new Prices();
    const input = (model: string) => prices.of(model)?.input;
    expect(input("claude-opus-4-5-20251101")).toBe(5);
    expect(input("claude-opus-4-1-20250805")).toBe(15);
    expect(input("gpt-5-mini-2025-08-07")).toBe(0.25);
    expect(input("gpt-5-2025-08-07")).toBe(1.25);
    expect(input("gemini-2.5-flash-lite")).toBe(0.1);
    // A listed name has to end where a part of the model's name ends.
    for (const unknown of ["gpt-4om", "gpt-5.9", "o30", "llama-4", ""])
      expect(input(unknown), unknown).toBeUndefined();
  });

  it("add up the tokens of each kind, and are higher for a long prompt", () => {
    const { isPriced, usd } = priced("claude-haiku-4-5", few, new Prices());
    expect(isPriced).toBe(true);
    expect(usd).toBeCloseTo((1000 * 1 + 100 * 5 + 10_000 * 0.1 + 100 * 1.25) / 1_000_000, 12);
    // Of the cache writes, those that last an hour cost twice as much as input.
    const hourly = { ...few, cacheWriteTokens: 300, hourlyCacheWriteTokens: 200 };
    expect(priced("claude-haiku-4-5", hourly, new Prices()).usd).toBeCloseTo(
      (usd ?? 0) + (200 * 2) / 1_000_000,
      12,
    );
    expect(priced("gemini-2.5-pro", { ...million, inputTokens: 200_000 }, new Prices()).usd).toBeCloseTo(
      0.25,
      12,
    );
    expect(priced("gemini-2.5-pro", { ...million, inputTokens: 200_001 }, new Prices()).usd).toBeGreaterThan(
      0.5,
    );
  });

  it("come from settings.yaml first; without a price no money is counted, and no budget in money can be kept", async () => {
    const { prices: own } = await parseSettings(
      "prices:\n  claude: { input: 1, output: 2 }\n  my-model: { input: 4, output: 8, cache_read: 0, cache_write: 5 }\n",
    );
    const prices = new Prices(own);
    expect(priced("claude-opus-4-5", million, prices)).toEqual({ isPriced: true, usd: 1 });
    expect(priced("claude-opus-4-5", few, prices).usd).toBeCloseTo(
      (1000 + 200 + 10_000 + 100) / 1_000_000,
      12,
    );
    // Without a price of its own, a cache write costs as much as input, also for an hour.
    const hourly = { ...few, hourlyCacheWriteTokens: 100 };
    expect(priced("claude-opus-4-5", hourly, prices)).toEqual(priced("claude-opus-4-5", few, prices));
    expect(priced("my-model", hourly, prices).usd).toBeCloseTo((4000 + 800 + 800) / 1_000_000, 12);
    expect(priced("my-model-7b", few, prices).usd).toBeCloseTo((4000 + 800 + 500) / 1_000_000, 12);
    expect(priced("other", million, prices)).toEqual({ isPriced: false });
    expect(canCount({ usd: 1 }, "other", prices)).toBe(false);
    expect(canCount({ usd: 1 }, "my-model", prices)).toBe(true);
    expect(canCount({ tokens: 1 }, "other", prices)).toBe(true);
    await expect(parseSettings("prices:\n  m: { input: -1, output: 2 }\n")).rejects.toMatchObject({
      code: "config_invalid",
    });
  });
});
