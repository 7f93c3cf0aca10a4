import type { Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, parseCount, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly to: number };

export function command(): Command {
  return verb(
    "rewind",
    "Take a session back to the end of a turn, in place: its files, its HOME and its conversation. The later turns stay in the journal, with their checkpoints: to undo a rewind, rewind to the turn that the session was at. The queue, the inbox, credentials and what was spent stay as they are. Turn numbers are never reused.",
    ["holdfast rewind fix-login --to 3", "holdfast rewind fix-login --to 0"],
  )
    .argument("<session>", SESSION_HELP)
    .requiredOption("--to <turn>", "the turn to go back to; 0: the beginning", parseCount)
    .action(async (prefix: string, options: Options) => {
      const { holdfast } = await openDispatcher(options);
      const { id, label } = await sessionOf(holdfast, prefix, options);
      const rewound = await holdfast.rewindSession(id, options.to, scope(options));
      if (options.json) return sayJson({ session: id, ...rewound });
      const { fromTurn, toTurn } = rewound;
      say(`${label} is back at the end of turn ${toTurn}`);
      say(`  undo       holdfast rewind ${label} --to ${fromTurn}`);
    });
}
