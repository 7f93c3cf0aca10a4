import type { Command } from "commander";
import type { JournalRecord } from "../../contract/index.ts";
import { present } from "../../util/index.ts";
import { formatRecord } from "../record-line.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, parseCount, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly follow?: boolean; readonly from?: number; readonly full?: boolean };

export function command(): Command {
  return verb("log", "What happened in a session: time, turn, who, what.", [
    "holdfast log fix-login",
    "holdfast log fix-login -f",
    "holdfast log fix-login --from 100 --json",
  ])
    .argument("<session>", SESSION_HELP)
    .option("-f, --follow", "go on with what is appended, until Ctrl-C")
    .option("--from <seq>", "begin with this record", parseCount)
    .option("--full", "do not shorten long text to the width of the terminal")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const { id } = await sessionOf(home, prefix, options);
      const range = { ...scope(options), ...present({ fromSeq: options.from }) };
      const stop = new AbortController();
      if (options.follow) process.once("SIGINT", () => stop.abort());
      const records = options.follow
        ? home.followJournal(id, { ...range, signal: stop.signal })
        : home.readJournal(id, range);
      for await (const record of records) print(record, options);
    });
}

function print(record: JournalRecord, options: Options): void {
  if (options.json) sayJson(record);
  else say(formatRecord(record, options.full ? undefined : process.stdout.columns));
}
