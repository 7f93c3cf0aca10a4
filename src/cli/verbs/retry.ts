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
    "Run the last task of a session again: the same command, from the same base, in the same lane, in a fresh capsule. It gets the variables that the task was given by name, with the values that they have now. If the task was first asked for in another session (the parent of a fork, or an imported session), name them with --env. What the last attempt left stays in its snapshot. A session with a running or waiting task is refused.",
    ["holdfast retry fix-login", "holdfast retry fix-login --detach"],
  )
    .argument("<session>", SESSION_HELP)
    .option("-d, --detach", "do not wait for the task");
  return withLane(withEnvironment(retry), "the lane that the task had").action(
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

/** Names in a record that came from elsewhere do not choose any of the caller's variables. */
function tellWithheld(names: readonly string[], { env = [] }: Options): void {
  const given = env.map((entry) => entry.split("=", 1)[0]);
  const left = names.filter((name) => !given.includes(name));
  if (left.length > 0)
    note(
      `the last task was asked for elsewhere, with ${left.join(", ")} in its environment. It now runs without; to give it your value: --env ${left[0]}`,
    );
}
