import type { Command } from "commander";
import { type EnvironmentOptions, stillAsked, withEnvironment } from "../environment.ts";
import { type LaneOptions, laneChoice, withLane } from "../lane-options.ts";
import { note } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";
import { runAgain } from "./run.ts";

type Options = CommonOptions & EnvironmentOptions & LaneOptions & { readonly detach?: boolean };

export function command(): Command {
  const retry = verb(
    "retry",
    "Run the last task of a session again: the same command, from the same base, in a fresh capsule, in the same lane, with the same variables as they are set here and now; one that was asked for elsewhere, of a fork or an import, gets none by itself. What the last attempt left is in its snapshot. Refused while a task runs or waits in the session.",
    ["holdfast retry fix-login", "holdfast retry fix-login --detach"],
  )
    .argument("<session>", SESSION_HELP)
    .option("-d, --detach", "do not wait for it");
  return withLane(withEnvironment(retry), "as it was asked for").action(
    async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const session = await sessionOf(dispatcher.holdfast, prefix, options);
      const { spec: again, withheld } = await dispatcher.lastTaskAgain(session.id, {
        ...scope(options),
        ...laneChoice(options),
      });
      tellWithheld(withheld, options);
      const { env: had = [], ...last } = again;
      const env = await stillAsked(had, dispatcher.home.dir);
      const spec = { ...last, ...(env.length > 0 && { env }) };
      await runAgain(dispatcher, session, spec, { ...options, sandbox: spec.sandbox });
    },
  );
}

/** Names in a record of elsewhere choose none of the caller's variables. */
function tellWithheld(names: readonly string[], { env = [] }: Options): void {
  const given = env.map((entry) => entry.split("=", 1)[0]);
  const left = names.filter((name) => !given.includes(name));
  if (left.length > 0)
    note(
      `the last task was asked for elsewhere, with ${left.join(", ")} of its environment: it runs without; --env ${left[0]} gives it yours`,
    );
}
