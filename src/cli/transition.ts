/**
 * Owns the verbs that only move a session from one status to another: they differ in one call and one word.
 */
import type { Command } from "commander";
import type { Dispatcher } from "../dispatch/index.ts";
import { say, sayJson } from "./screen.ts";
import { type CommonOptions, openDispatcher, scope, stopping, verb } from "./verb.ts";
import { SESSION_HELP, sessionOf } from "./which-session.ts";

type Move = (dispatcher: Dispatcher, id: string, options: ReturnType<typeof stopping>) => Promise<unknown>;

export function transition(name: string, summary: string, done: string, move: Move): Command {
  return verb(name, summary, [`holdfast ${name} fix-login`])
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      await move(dispatcher, id, stopping(options));
      if (options.json) sayJson(await dispatcher.show(id, scope(options)));
      else say(`${label} ${done}`);
    });
}
