import type { Command } from "commander";
import type { Json } from "../../contract/index.ts";
import { present } from "../../util/index.ts";
import { formatRecord } from "../record-line.ts";
import { say, sayJson } from "../screen.ts";
import { Story } from "../story.ts";
import { parseTarget, resolveTarget } from "../target.ts";
import { type CommonOptions, openHome, parseCount, scope, verb } from "../verb.ts";
import { SESSION_HELP } from "../which-session.ts";

type Options = CommonOptions & {
  readonly follow?: boolean;
  readonly from?: number;
  readonly full?: boolean;
  readonly raw?: boolean;
};

export function command(): Command {
  return verb(
    "log",
    "Show what happened in a session, as a story: its tasks and turns, what was said and done, and how long it took. --raw and --json show every record instead.",
    [
      "holdfast log fix-login",
      "holdfast log fix-login -f",
      "holdfast log fix-login/2 --raw",
      "holdfast log fix-login --from 100 --json",
    ],
  )
    .argument("<session>", `${SESSION_HELP}; S/2 is its task 2 alone (default: all of them)`)
    .option("-f, --follow", "keep printing new records, until Ctrl-C")
    .option("--from <seq>", "begin with the record of this number", parseCount)
    .option("--raw", "show every record, one line each")
    .option("--full", "do not cut long text to the width of the terminal")
    .action(async (target: string, options: Options) => {
      const home = await openHome(options);
      const { id } = await resolveTarget({ holdfast: home }, target, options);
      const { task } = parseTarget(target);
      const range = { ...scope(options), ...present({ fromSeq: options.from }) };
      const stop = new AbortController();
      if (options.follow) process.once("SIGINT", () => stop.abort());
      const records = options.follow
        ? home.followJournal(id, { ...range, signal: stop.signal })
        : home.readJournal(id, range);
      const width = options.full ? undefined : process.stdout.columns;
      const story = new Story(width);
      let current: Json = null;
      for await (const record of records) {
        if (record.type === "task_started") current = record.data["task"] ?? null;
        if (task !== undefined && current !== task) continue;
        if (options.json) sayJson(record);
        else if (options.raw) say(formatRecord(record, width));
        else for (const line of story.tell(record)) say(line);
      }
    });
}
