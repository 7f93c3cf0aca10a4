import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly undo?: boolean };

export function command(): Command {
  return verb("keep", "Keep a session, whatever its age: neither retention nor gc archives or deletes it.", [
    "holdfast keep 01k",
    "holdfast keep 01k --undo",
  ])
    .argument("<session>", "its id, or the beginning of it")
    .option("--undo", "leave it to retention again")
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const id = await dispatcher.holdfast.resolveId(prefix, scope(options));
      const isKept = !options.undo;
      await dispatcher.keep(id, isKept, scope(options));
      if (options.json) sayJson(await dispatcher.show(id, scope(options)));
      else say(isKept ? `${id} is kept` : `${id} is not kept any more`);
    });
}
