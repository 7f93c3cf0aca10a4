/**
 * Owns the form of a step of a worker: what is checked before the grant is spent, and what is done after it.
 */
import type { Values } from "../contract/index.ts";
import type { ToolOutcome } from "../lane/index.ts";
import type { Order } from "./order.ts";

/** Does the action. */
export type Plan = (signal: AbortSignal) => Promise<ToolOutcome>;
/** Fails if it can be told beforehand that the action can't be done as it was approved. */
export type Planner = (order: Order, values: Values) => Promise<Plan>;
