import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

export function command(): Command {
  return verb("interrupt", "End the turn that a session is at. Its work is kept, and its session goes on.", [
    "holdfast interrupt 01k",
  ])
    .argument("<session>", "its id, or the beginning of it")
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const id = await dispatcher.holdfast.resolveId(prefix, scope(options));
      await dispatcher.interrupt(id, scope(options));
      if (options.json) sayJson({ session: id });
      else say(`${id} is asked to end its turn`);
    });
}
