import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "cancel",
    "Take a task back that waits in a session, also while the session is paused; or interrupt the one that runs, whose work is kept.",
    ["holdfast cancel fix-login 4fq0c2"],
  )
    .argument("<session>", SESSION_HELP)
    .argument("<request>", "its request, or the end of it: holdfast queue lists them")
    .action(async (prefix: string, name: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id } = await sessionOf(dispatcher.holdfast, prefix, options);
      const { request, wasRunning } = await dispatcher.cancelByName(id, name, scope(options));
      if (options.json) sayJson({ session: id, request, wasRunning });
      else say(wasRunning ? `${request} runs, and is asked to end` : `${request} is taken back`);
    });
}
