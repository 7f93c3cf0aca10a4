import { type Command, Option } from "commander";
import type { SessionSummary } from "../../home/index.ts";
import type { LocalHome } from "../../library/index.ts";
import { expensesIn, type Spent, tokensIn } from "../../session/index.ts";
import { printable } from "../../util/index.ts";
import { note, paint, sayJson, table } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

const WAYS = ["session", "user", "agent", "model", "repo", "day"] as const;
type Way = (typeof WAYS)[number];
type Options = CommonOptions & { readonly by: Way };

/** A part of what a session spent, and the key that it is added up under. */
interface Part {
  readonly key: string;
  readonly session: string;
  readonly spent: Spent;
  readonly isPriced: boolean;
}

export function command(): Command {
  return verb(
    "usage",
    "Show what sessions have spent: tokens, money, minutes, turns. Money is computed from a list of prices, which settings.yaml can override. Tokens are everything that models read and wrote, cached or not. Days are in UTC.",
    ["holdfast usage", "holdfast usage --by model", "holdfast usage --by day --json"],
  )
    .addOption(new Option("--by <what>", "what to add up by").choices(WAYS).default("session"))
    .action(async (options: Options) => {
      const home = await openHome(options);
      const { by } = options;
      const filter = by === "user" && options.user === undefined ? { user: null } : scope(options);
      const sessions = await home.listSessions(filter);
      const sums = new Map<string, Sum>();
      for (const session of sessions)
        for (const part of await partsOf(home, session, by))
          sums.set(part.key, (sums.get(part.key) ?? new Sum()).add(part));
      const entries = [...sums].sort(([a], [b]) => (by === "day" ? a.localeCompare(b) : 0));
      if (options.json) return sayJson(entries.map(([key, sum]) => ({ [by]: key, ...sum.facts() })));
      const labels = new Map(sessions.map((one) => [one.id, labelOf(one)]));
      table([
        [by.toUpperCase(), "SESSIONS", "TURNS", "TOKENS", "USD", "MINUTES"].map((head) => paint("dim", head)),
        ...entries.map(([key, sum]) => [printable(labels.get(key) ?? key), ...sum.cells()]),
      ]);
      const unpriced = entries.reduce((count, [, sum]) => count + sum.facts().unpriced, 0);
      if (unpriced > 0)
        note(
          `${unpriced} of the requests went to models without a known price, so their cost is not counted; prices in settings.yaml can set one`,
        );
    });
}

/** To add up by agent, model or day, journals are read; the rest is known without reading them. */
async function partsOf(home: LocalHome, session: SessionSummary, by: Way): Promise<Part[]> {
  const { id, user, spent } = session;
  if (by !== "agent" && by !== "model" && by !== "day") {
    const key = by === "session" ? id : (session[by] ?? "-");
    return [{ key, session: id, spent, isPriced: true }];
  }
  const expenses = await expensesIn(home.readJournal(id, { user }));
  // A session that spent nothing is listed under its agent, too.
  if (by === "agent" && expenses.length === 0)
    return [{ key: session.agent ?? "-", session: id, spent, isPriced: true }];
  return expenses.map(({ at, agent, model, isPriced, ...rest }) => ({
    key: { agent: agent ?? session.agent ?? "-", model: model ?? "-", day: at.slice(0, DAY_LENGTH) }[by],
    session: id,
    spent: rest,
    isPriced,
  }));
}

const DAY_LENGTH = "2026-01-31".length;

class Sum {
  readonly #sessions = new Set<string>();
  readonly #parts: Spent[] = [];
  #unpriced = 0;

  add({ session, spent, isPriced }: Part): this {
    this.#sessions.add(session);
    this.#parts.push(spent);
    if (!isPriced) this.#unpriced += 1;
    return this;
  }

  facts() {
    const total = (of: (spent: Spent) => number) => this.#parts.reduce((sum, one) => sum + of(one), 0);
    return {
      sessions: this.#sessions.size,
      turns: total(({ turns }) => turns),
      tokens: total(tokensIn),
      inputTokens: total(({ inputTokens }) => inputTokens),
      outputTokens: total(({ outputTokens }) => outputTokens),
      cacheReadTokens: total(({ cacheReadTokens }) => cacheReadTokens),
      cacheWriteTokens: total(({ cacheWriteTokens }) => cacheWriteTokens),
      usd: total(({ usd }) => usd),
      minutes: total(({ durationMs }) => durationMs) / MINUTE_MS,
      unpriced: this.#unpriced,
    };
  }

  cells(): string[] {
    const { sessions, turns, tokens, usd, minutes } = this.facts();
    return [String(sessions), String(turns), String(tokens), usd.toFixed(4), minutes.toFixed(1)];
  }
}

const MINUTE_MS = 60_000;
