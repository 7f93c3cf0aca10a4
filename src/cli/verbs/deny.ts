import type { Command } from "commander";
import { Requests } from "../../dispatch/index.ts";
import { tellMade } from "../deciding.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly why?: string };

export function command(): Command {
  return verb("deny", "Deny an action that a session requests. The agent gets the reason.", [
    'holdfast deny appr_01k --why "push to a branch of your own"',
  ])
    .argument("<approval>", "the approval's id, or the first characters of it; holdfast approvals lists them")
    .option("--why <text>", "the reason that the agent gets")
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const requests = new Requests(dispatcher);
      const asked = await requests.find("approval", prefix, scope(options));
      const { id, session, user, label } = asked;
      const made = await requests.deny(session, id, options.why ?? "", { user });
      if (options.json) return sayJson({ approval: id, session, isGranted: false, process: made.process });
      say(`denied ${id} of ${label}`);
      tellMade(asked, made);
    });
}
