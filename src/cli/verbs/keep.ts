import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly undo?: boolean };

export function command(): Command {
  return verb(
    "keep",
    "Protect a session from retention and gc: neither archives or deletes it, however old it is.",
    ["holdfast keep fix-login", "holdfast keep fix-login --undo"],
  )
    .argument("<session>", SESSION_HELP)
    .option("--undo", "allow retention and gc to archive or delete it again")
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      const isKept = !options.undo;
      await dispatcher.keep(id, isKept, scope(options));
      if (options.json) sayJson(await dispatcher.show(id, scope(options)));
      else say(isKept ? `${label} is kept` : `${label} is no longer kept`);
    });
}
