import type { Command } from "commander";
import { exitStatus } from "../../contract/index.ts";
import { printable } from "../../util/index.ts";
import { clip, paint, sayJson, table } from "../screen.ts";
import { type CommonOptions, openHome, parseCount, scope, verb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

type Options = CommonOptions & { readonly limit: number };

export function command(): Command {
  return verb(
    "search",
    "Find the records of all sessions that contain all of these words, best matches first. Exits with 1 if there are none.",
    ["holdfast search login timeout", "holdfast search --limit 5 retry"],
  )
    .argument("<words...>", "the words to look for")
    .option("--limit <n>", "show at most this many records", parseCount, 20)
    .action(async (words: string[], options: Options) => {
      const home = await openHome(options);
      const hits = await home.search(words, { ...scope(options), limit: options.limit });
      if (hits.length === 0) process.exitCode = exitStatus.failed;
      if (options.json) return sayJson(hits);
      const labels = new Map((await home.listSessions(scope(options))).map((one) => [one.id, labelOf(one)]));
      table(
        hits.map(({ session, seq, turn, type, snippet }) => [
          printable(labels.get(session) ?? session),
          paint("dim", `#${seq}`),
          turn === null ? "" : `turn ${turn}`,
          printable(type),
          clip(snippet.replace(/\s+/g, " "), 160),
        ]),
      );
    });
}
