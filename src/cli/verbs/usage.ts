import { type Command, Option } from "commander";
import { printable } from "../../util/index.ts";
import { paint, sayJson, table } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

type Options = CommonOptions & { readonly by?: "user" | "agent" | "repo" };

export function command(): Command {
  return verb("usage", "What sessions have spent: tokens, money, minutes, turns.", [
    "holdfast usage",
    "holdfast usage --by agent",
  ])
    .addOption(new Option("--by <what>", "add up by").choices(["user", "agent", "repo"]))
    .action(async (options: Options) => {
      const home = await openHome(options);
      const filter = options.by === "user" && options.user === undefined ? { user: null } : scope(options);
      const labels = new Map<string, string>();
      const sums = new Map<
        string,
        { sessions: number; turns: number; tokens: number; usd: number; minutes: number }
      >();
      for (const session of await home.listSessions(filter)) {
        const key = options.by ? (session[options.by] ?? "-") : session.id;
        labels.set(session.id, labelOf(session));
        const sum = sums.get(key) ?? { sessions: 0, turns: 0, tokens: 0, usd: 0, minutes: 0 };
        const { spent } = session;
        sums.set(key, {
          sessions: sum.sessions + 1,
          turns: sum.turns + spent.turns,
          tokens: sum.tokens + spent.inputTokens + spent.outputTokens,
          usd: sum.usd + spent.usd,
          minutes: sum.minutes + spent.durationMs / 60_000,
        });
      }
      const name = options.by ?? "session";
      const entries = [...sums].map(([key, sum]) => ({ [name]: key, ...sum }));
      if (options.json) return sayJson(entries);
      const rows = [...sums].map(([key, sum]) => [
        printable(labels.get(key) ?? key),
        String(sum.sessions),
        String(sum.turns),
        String(sum.tokens),
        sum.usd.toFixed(4),
        sum.minutes.toFixed(1),
      ]);
      table([
        [name.toUpperCase(), "SESSIONS", "TURNS", "TOKENS", "USD", "MINUTES"].map((head) =>
          paint("dim", head),
        ),
        ...rows,
      ]);
    });
}
