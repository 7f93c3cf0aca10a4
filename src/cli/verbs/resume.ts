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
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & BudgetOptions & { readonly takeOver?: boolean };

export function command(): Command {
  const resume = verb(
    "resume",
    "Resume a session after a pause, a close, an archive or a crash. If one of its tasks is parked, that task continues.",
    [
      "holdfast resume fix-login",
      "holdfast resume fix-login --budget-usd 10",
      "holdfast resume fix-login --take-over",
    ],
  )
    .argument("<session>", SESSION_HELP)
    .option("--take-over", "first end the process that has the session open, if there is one");
  return withBudget(resume).action(async (prefix: string, options: Options) => {
    const dispatcher = await openDispatcher(options);
    const home = dispatcher.holdfast;
    const { id, label } = await sessionOf(home, prefix, options);
    const { state, process, recovery } = await dispatcher.resume(id, {
      ...scope(options),
      ...present({ budget: budgetOf(options) }),
      takeOver: options.takeOver ?? false,
    });
    const { tornBytes, brokenFile } = recovery;
    if (tornBytes > 0)
      note(`${tornBytes} bytes of an unfinished write, never acknowledged, were set aside in ${brokenFile}`);
    if (options.json) return sayJson(await dispatcher.show(id, scope(options)));
    if (process === "there") return say(`${label} continues: its process was still running`);
    say(`${label} resumed at turn ${state.turns}`);
    if (process === "none" && state.repo !== null)
      note(`It has no unfinished task. To give it one: holdfast run --session ${label}`);
    if (process === "in line") note(`It is waiting for a free place: holdfast show ${label} says why`);
    if (process === "started")
      note(
        `Its process is running: holdfast attach ${label}. To run an interrupted task again: holdfast retry ${label}.`,
      );
  });
}
