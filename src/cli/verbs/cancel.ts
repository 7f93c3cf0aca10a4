import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "cancel",
    "Cancel a task of a session. A waiting task is removed from the queue, even while the session is paused. A running task is interrupted, and a parked task is ended; the work of both is kept.",
    ["holdfast cancel fix-login 4fq0c2"],
  )
    .argument("<session>", SESSION_HELP)
    .argument("<request>", "the task's request id, or its last characters; holdfast queue lists them")
    .action(async (prefix: string, name: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id } = await sessionOf(dispatcher.holdfast, prefix, options);
      const cancelled = await dispatcher.cancelByName(id, name, scope(options));
      const { request, wasRunning, wasParked } = cancelled;
      if (options.json) sayJson({ session: id, ...cancelled });
      else if (wasParked) say(`${request} was parked and is now cancelled; its work is kept`);
      else say(wasRunning ? `${request} is running, and was asked to end` : `${request} is cancelled`);
    });
}
