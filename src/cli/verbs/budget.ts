import { type Command, InvalidArgumentError } from "commander";
import { type Budget, type BudgetLimit, HoldfastError, parseBudget } from "../../contract/index.ts";
import { parkedIn, parkedText } from "../../dispatch/index.ts";
import { reachedLimits, type SessionState, usedOf } from "../../session/index.ts";
import { note, paint, say, sayJson, table } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { type NamedSession, SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly raise?: Budget };

const LIMITS: readonly BudgetLimit[] = ["tokens", "usd", "minutes", "turns"];
/** Digits after the decimal point. */
const PRECISION: Readonly<Record<BudgetLimit, number>> = { tokens: 0, usd: 4, minutes: 1, turns: 0 };

export function command(): Command {
  return verb(
    "budget",
    "Show what a session may spend, what it has spent, and what is left. With --raise, raise its limits, even while it runs: a request that the budget held is sent, and a task that was parked for the budget continues.",
    ["holdfast budget fix-login", "holdfast budget fix-login --raise usd=5,turns=10"],
  )
    .argument("<session>", SESSION_HELP)
    .option(
      "--raise <amounts>",
      "add to its limits (tokens, usd, minutes, turns): usd=5 allows 5 more than before",
      parseAmounts,
    )
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const named = await sessionOf(dispatcher.holdfast, prefix, options);
      const { raise } = options;
      if (!raise) return tell(named, await dispatcher.show(named.id, scope(options)), options);
      const { state, process } = await dispatcher.raiseBudget(named.id, raise, scope(options));
      tell(named, state, options);
      if (process === "in line")
        note(`${named.label} is waiting for a free place: holdfast show ${named.label} says why`);
      else if (process === "started" || process === "there") note(`${named.label} continues`);
    });
}

type Budgeted = Pick<SessionState, "budget" | "spent" | "task">;

function tell({ id, label }: NamedSession, state: Budgeted, options: Options): void {
  const { budget, spent } = state;
  const used = usedOf(spent);
  const reached = reachedLimits(state);
  const left = (limit: BudgetLimit) => Math.max(0, (budget[limit] ?? 0) - used[limit]);
  const set = LIMITS.filter((limit) => budget[limit] !== undefined);
  const parked = parkedIn(state);
  if (options.json) {
    const rest = Object.fromEntries(set.map((limit) => [limit, left(limit)]));
    sayJson({ session: id, budget, spent, left: rest, reached, parked });
    return;
  }
  const shown = (limit: BudgetLimit, amount: number) => amount.toFixed(PRECISION[limit]);
  table([
    ["LIMIT", "BUDGET", "SPENT", "LEFT"].map((head) => paint("dim", head)),
    ...LIMITS.map((limit) => [
      limit,
      budget[limit] === undefined ? "-" : shown(limit, budget[limit]),
      shown(limit, used[limit]),
      set.includes(limit) ? shown(limit, left(limit)) : "-",
    ]),
  ]);
  if (parked) say(`task ${state.task?.number} is parked: ${parkedText(parked)}`);
  const [first] = reached;
  if (first !== undefined) note(`to continue it: holdfast budget ${label} --raise ${first}=AMOUNT`);
}

/** `usd=5,turns=10`. */
function parseAmounts(text: string): Budget {
  const pairs = text.split(",").map((pair) => {
    const [limit = "", amount = ""] = pair.split("=", 2).map((part) => part.trim());
    if (!LIMITS.includes(limit as BudgetLimit))
      throw new InvalidArgumentError(`${JSON.stringify(limit)} is none of ${LIMITS.join(", ")}.`);
    return [limit, amount === "" ? Number.NaN : Number(amount)] as const;
  });
  if (new Set(pairs.map(([limit]) => limit)).size < pairs.length)
    throw new InvalidArgumentError("the same limit is named twice.");
  try {
    return parseBudget(Object.fromEntries(pairs));
  } catch (error) {
    if (error instanceof HoldfastError) throw new InvalidArgumentError(`${error.message}.`);
    throw error;
  }
}
