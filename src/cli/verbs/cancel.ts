import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "cancel",
    "Take a task back that waits in a session, also while the session is paused; or interrupt the one that runs, or end the one that is parked, whose work is kept.",
    ["holdfast cancel fix-login 4fq0c2"],
  )
    .argument("<session>", SESSION_HELP)
    .argument("<request>", "its request, or the end of it: holdfast queue lists them")
    .action(async (prefix: string, name: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id } = await sessionOf(dispatcher.holdfast, prefix, options);
      const cancelled = await dispatcher.cancelByName(id, name, scope(options));
      const { request, wasRunning, wasParked } = cancelled;
      if (options.json) sayJson({ session: id, ...cancelled });
      else if (wasParked) say(`${request} was parked, and is cancelled: its work is kept`);
      else say(wasRunning ? `${request} runs, and is asked to end` : `${request} is taken back`);
    });
}
