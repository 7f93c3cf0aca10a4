import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import type { Dispatcher } from "../../dispatch/index.ts";
import { present, printable } from "../../util/index.ts";
import { note, say, sayJson, stream } from "../screen.ts";
import { parseTarget, resolveTarget, TASK_HELP } from "../target.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly stat?: boolean; readonly all?: boolean };

export function command(): Command {
  return verb(
    "diff",
    "Show what a task changed since its base; while its command runs, what it has changed so far. With --all, show everything that the session has changed since it last began clean. With two sessions of one repo, show how the second differs from the first.",
    [
      "holdfast diff fix-login",
      "holdfast diff fix-login/2 --stat",
      "holdfast diff fix-login --all | git apply",
      "holdfast diff fix-login other-way",
    ],
  )
    .argument("<session>", TASK_HELP)
    .argument("[other]", "another session of the same repo, or one of its tasks")
    .option("--stat", "print only the names of the changed files")
    .option("--all", "the changes of the whole session, not only of one task")
    .action(async (target: string, other: string | undefined, options: Options) => {
      if (options.all && other !== undefined)
        throw new HoldfastError(
          "usage",
          "--all can't be used with two sessions: give one session, or remove --all",
        );
      const dispatcher = await openDispatcher(options);
      const { holdfast } = dispatcher;
      const { id, label } = await resolveTarget(dispatcher, target, options);
      const { task } = parseTarget(target);
      const against = other === undefined ? undefined : await otherOf(dispatcher, other, options);
      const { patch, stat, base, tree, turn, isSoFar } = await holdfast.diffSession(id, {
        ...scope(options),
        ...present({ task, against, isWhole: options.all, isStatOnly: options.stat }),
      });
      if (options.json)
        return sayJson({
          session: id,
          base,
          tree,
          turn,
          isSoFar,
          ...stat,
          ...(!options.stat && { patch: patch.toString("utf8") }),
        });
      if (isSoFar) note(`${label} is still working: this is what it has changed so far`);
      if (options.stat) for (const path of stat.paths) say(printable(path));
      else stream(process.stdout, patch);
    });
}

async function otherOf(dispatcher: Dispatcher, text: string, options: Options) {
  const { id } = await resolveTarget(dispatcher, text, options);
  return { session: id, ...present({ task: parseTarget(text).task }) };
}
