import type { Command } from "commander";
import { present } from "../../util/index.ts";
import { note, say, sayJson } from "../screen.ts";
import {
  type BudgetOptions,
  budgetOf,
  type CommonOptions,
  openDispatcher,
  scope,
  verb,
  withBudget,
} from "../verb.ts";

type Options = CommonOptions & BudgetOptions & { readonly takeOver?: boolean };

export function command(): Command {
  const resume = verb(
    "resume",
    "Make a session ready to go on: after a pause, a close, an archive or a crash.",
    ["holdfast resume 01k", "holdfast resume 01k --budget-usd 10", "holdfast resume 01k --take-over"],
  )
    .argument("<session>", "its id, or the beginning of it")
    .option("--take-over", "end the process that has it open, if one does");
  return withBudget(resume).action(async (prefix: string, options: Options) => {
    const dispatcher = await openDispatcher(options);
    const home = dispatcher.holdfast;
    const id = await home.resolveId(prefix, scope(options));
    const { state, process, recovery } = await dispatcher.resume(id, {
      ...scope(options),
      ...present({ budget: budgetOf(options) }),
      takeOver: options.takeOver ?? false,
    });
    const { tornBytes, brokenFile } = recovery;
    if (tornBytes > 0)
      note(
        `${tornBytes} bytes of an unfinished write were set aside in ${brokenFile}; nobody had been told of them`,
      );
    if (options.json) return sayJson(await dispatcher.show(id, scope(options)));
    if (process === "there") return say(`${id} goes on: its process was not gone`);
    say(`${id} resumed at turn ${state.turns}`);
    if (process === "none" && state.repo !== null)
      note(`nothing is under way in it: holdfast run --session ${id} gives it a task`);
    if (process === "in line") note(`it waits in the line: holdfast show ${id} says why`);
    if (process === "started")
      note(
        `its process is there again: holdfast attach ${id} looks on, holdfast retry ${id} runs a task that was cut off again`,
      );
  });
}
