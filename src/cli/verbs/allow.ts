import type { Command } from "commander";
import { parseHost } from "../lane-options.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "allow",
    "Let the task that runs in a session reach a host, until it ends. It is on record. The next task knows nothing of it: run --host names hosts for one task, a lane of holdfast.yaml for many.",
    ["holdfast allow fix-login registry.npmjs.org", "holdfast allow fix-login localhost:5432"],
  )
    .argument("<session>", SESSION_HELP)
    .argument("<host>", "a name, perhaps with a port: example.org, *.example.org, localhost:5432", parseHost)
    .action(async (prefix: string, host: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      const allowed = await dispatcher.allowHost(id, host, scope(options));
      if (options.json) sayJson({ session: id, ...allowed });
      else say(`task ${allowed.task} of ${label} may reach ${allowed.host} until it ends`);
    });
}
