import type { Command } from "commander";
import { parseHost } from "../lane-options.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "allow",
    "Let the task that is running in a session reach one more host, until the task ends. The session's record names the host. The next task does not get it: use run --host for one task, or a lane in holdfast.yaml for many.",
    ["holdfast allow fix-login registry.npmjs.org", "holdfast allow fix-login localhost:5432"],
  )
    .argument("<session>", SESSION_HELP)
    .argument(
      "<host>",
      "a host name, with or without a port: example.org, *.example.org, localhost:5432",
      parseHost,
    )
    .action(async (prefix: string, host: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      const allowed = await dispatcher.allowHost(id, host, scope(options));
      if (options.json) sayJson({ session: id, ...allowed });
      else say(`task ${allowed.task} of ${label} may reach ${allowed.host} until it ends`);
    });
}
