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
}) satisfies z.ZodMiniType<Budget>;
/** The limits of a session. A limit that is missing is not set. */
export type Budget = {
  /** Tokens of all models together. */
  tokens?: number | undefined;
  /** Money in US dollars. */
  usd?: number | undefined;
  /** The time that turns are open. */
  minutes?: number | undefined;
  /** The number of turns. */
  turns?: number | undefined;
};
/** What a budget can limit. */
export type BudgetLimit = keyof Budget;

export function parseBudget(value: unknown): Budget {
  const parsed = budgetSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = ["budget", ...(issue?.path ?? [])].join(".");
  throw new HoldfastError("invalid_data", `${at}: ${issue?.message}`);
}
