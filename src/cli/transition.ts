/**
 * Owns the verbs that only move a session from one status to another: they differ in one call and one word.
 */
import type { Command } from "commander";
import type { Dispatcher } from "../dispatch/index.ts";
import type { Archived } from "../upkeep/index.ts";
import { bytes } from "./amounts.ts";
import { confirmEnding, type Ending, type ForceOptions, withForce } from "./ask.ts";
import { say, sayJson } from "./screen.ts";
import { type CommonOptions, openDispatcher, scope, stopping, verb } from "./verb.ts";
import { SESSION_HELP, sessionOf } from "./which-session.ts";

/** What it resolves to is added to the JSON output, beside the session. */
type Move = (
  dispatcher: Dispatcher,
  id: string,
  options: ReturnType<typeof stopping>,
) => Promise<Archived | undefined>;

/** `ending`: what is asked if its agent is running; without it, nothing is lost. */
export function transition(
  name: string,
  summary: string,
  done: string,
  move: Move,
  ending?: Ending,
): Command {
  const command = verb(name, summary, [`holdfast ${name} fix-login`]);
  return (ending ? withForce(command) : command)
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions & ForceOptions) => {
      const dispatcher = await openDispatcher(options);
      const session = await sessionOf(dispatcher.holdfast, prefix, options);
      const { id, label } = session;
      if (ending) await confirmEnding(dispatcher, session, ending, options);
      const archived = await move(dispatcher, id, stopping(options, label));
      if (options.json) return sayJson({ ...(await dispatcher.show(id, scope(options))), ...archived });
      const freed = archived?.cacheBytes ?? 0;
      say(`${label} ${done}${freed > 0 ? `, ${bytes(freed)} of caches in its HOME deleted` : ""}`);
    });
}
