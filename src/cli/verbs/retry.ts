import type { Command } from "commander";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { runAgain } from "./run.ts";

type Options = CommonOptions & { readonly detach?: boolean };

export function command(): Command {
  return verb(
    "retry",
    "Run the last task of a session again: the same command, from the same base, in a fresh capsule. What the last attempt left is in its snapshot.",
    ["holdfast retry 01k", "holdfast retry 01k --detach"],
  )
    .argument("<session>", "its id, or the beginning of it")
    .option("-d, --detach", "do not wait for it")
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const id = await dispatcher.holdfast.resolveId(prefix, scope(options));
      const spec = await dispatcher.specOfLastTask(id, scope(options));
      await runAgain(dispatcher, id, spec, { ...options, sandbox: spec.sandbox });
    });
}
