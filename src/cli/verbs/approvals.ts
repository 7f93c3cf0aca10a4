import type { Command } from "commander";
import { type AskedOfPerson, type Dispatcher, Requests } from "../../dispatch/index.ts";
import { present } from "../../util/index.ts";
import { shownOf, tellWhole } from "../deciding.ts";
import { requestLines, type ShownRequest } from "../request-text.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

export function command(): Command {
  return verb(
    "approvals",
    "List what waits for you in all your sessions. For each approval: which session asks, the exact request, what it would reach, the files that it is based on, and its fingerprint. With an id, show that one with its whole diff.",
    ["holdfast approvals", "holdfast approvals appr_01k", "holdfast approvals --json"],
  )
    .argument("[approval]", "the id of one, or the first characters of it")
    .action(async (prefix: string | undefined, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const requests = new Requests(dispatcher);
      if (prefix !== undefined)
        return tellOne(dispatcher, await requests.find("approval", prefix, scope(options)), options);
      const all = await requests.all(scope(options));
      // One after the other, because each reads a patch.
      if (options.json) {
        const found = [];
        for (const asked of all) found.push(await jsonOf(dispatcher, asked));
        return sayJson(found);
      }
      if (all.length === 0) return note("nothing waits for you");
      for (const asked of all) {
        for (const line of requestLines(await shownOf(dispatcher, asked))) say(line);
        say(wayOf(asked));
        say("");
      }
    });
}

async function tellOne(dispatcher: Dispatcher, asked: AskedOfPerson, options: CommonOptions): Promise<void> {
  if (options.json) return sayJson(await jsonOf(dispatcher, asked, { isWhole: true }));
  tellWhole(await shownOf(dispatcher, asked));
  say(wayOf(asked));
}

async function jsonOf(dispatcher: Dispatcher, asked: AskedOfPerson, { isWhole = false } = {}) {
  const { lastRecordAt: _, data, ...rest } = asked;
  const shown: ShownRequest = await shownOf(dispatcher, asked);
  const diff = shown.diff?.isTooLarge
    ? shown.diff
    : shown.diff && { ...shown.diff.stat, ...(isWhole && { patch: shown.diff.patch.toString("utf8") }) };
  const canBe = shown.action !== undefined && !shown.diff?.isTooLarge;
  const isApprovable = asked.kind === "approval" ? { isApprovable: canBe } : {};
  return { ...rest, ...isApprovable, ...data, ...present({ diff }) };
}

function wayOf({ kind, id }: AskedOfPerson): string {
  return kind === "question"
    ? `            holdfast answer ${id} TEXT`
    : `            holdfast approve ${id} · holdfast deny ${id} --why TEXT`;
}
