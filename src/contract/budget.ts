/**
 * Owns the form of a budget: limits of a session in tokens, money, time and turns.
 */
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";
import "./words.ts";

const limit = z.number().check(z.positive());
export const budgetSchema = z.strictObject({
  tokens: z.optional(limit),
  usd: z.optional(limit),
  minutes: z.optional(limit),
  turns: z.optional(limit),
});
/** The limits of a session. A limit that is not set is none. */
export type Budget = z.infer<typeof budgetSchema>;
/** What a budget can limit. */
export type BudgetLimit = keyof Budget;

export function parseBudget(value: unknown): Budget {
  const parsed = budgetSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = ["budget", ...(issue?.path ?? [])].join(".");
  throw new HoldfastError("invalid_data", `${at}: ${issue?.message}`);
}
