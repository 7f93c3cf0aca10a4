export { Meter, type Metered, type ModelApi, modelApis } from "./meter.ts";
export { canCount, Prices, priced } from "./prices.ts";
export { type ProviderAnswer, usageLimitOf } from "./usage-limit.ts";
