import type { Command } from "commander";
import { present, printable } from "../../util/index.ts";
import { confirmEnding, type ForceOptions, withForce } from "../ask.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, stopping, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions &
  ForceOptions & {
    readonly to?: string;
    readonly person?: string;
    readonly return?: boolean;
    readonly unchanged?: boolean;
  };

export function command(): Command {
  const handoff = verb(
    "handoff",
    "Give a session's files to a person, in an ordinary directory with a git repository of its own. --return takes them back: what the person changed becomes a turn of the session. Asks before it ends a running agent.",
    [
      "holdfast handoff fix-login",
      "holdfast handoff fix-login --to ~/fix",
      "holdfast handoff fix-login --return",
    ],
  );
  return withForce(handoff)
    .argument("<session>", SESSION_HELP)
    .option(
      "--to <dir>",
      "the directory to write (default: one next to the repo); with --return, where the files are now",
    )
    .option("--person <name>", "who gets them (default: your user name)")
    .option("--return", "take the files back, with what the person changed")
    .option("--unchanged", "with --return: end the hand-off and ignore what the person changed")
    .action(async (prefix: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const home = dispatcher.holdfast;
      const session = await sessionOf(home, prefix, options);
      const { id, label } = session;
      const where = present({ directory: options.to });
      if (options.return) {
        const returned = await home.takeBackSession(id, {
          ...scope(options),
          ...where,
          unchanged: options.unchanged ?? false,
        });
        if (options.json) return sayJson({ session: id, ...returned });
        const { turn, isChanged, branch, unpublished } = returned;
        say(`${label} is back: turn ${turn}, ${isChanged ? "with changes" : "without changes"}`);
        if (branch) say(`published on ${branch}`);
        if (unpublished) say(`not published: ${printable(unpublished.reason)}`);
        return;
      }
      await confirmEnding(dispatcher, session, { what: "hand its files over" }, options);
      const { user } = await home.showSession(id, scope(options));
      const handed = await dispatcher.withoutProcess(id, stopping(options, label), () =>
        home.handOffSession(id, { ...scope(options), ...where, to: options.person ?? user }),
      );
      if (options.json) return sayJson({ session: id, ...handed });
      say(`the files of ${label} are handed to ${printable(handed.to)}: ${printable(handed.directory)}`);
      say(`to give them back: holdfast handoff ${label} --return`);
    });
}
