export { Meter, type Metered, type ModelApi } from "./meter.ts";
export { canCount, Prices, priced } from "./prices.ts";
export { usageLimitOf } from "./usage-limit.ts";
