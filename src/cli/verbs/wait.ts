import type { Command } from "commander";
import { exitStatus } from "../../contract/index.ts";
import { endingText, type Waited, waitFor } from "../../face/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { parseTarget, resolveTarget } from "../target.ts";
import { type CommonOptions, openDispatcher, parsePositiveCount, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly timeout?: number };

export function command(): Command {
  return verb(
    "wait",
    "Wait until each session has no running or waiting task, and print how its last task ended. It waits for a task that is parked until a set time, but not for a task that needs a person. Exits with the first status that is not 0: 1 failed, 3 needs a review or a key, 7 budget or usage limit, 130 cancelled or interrupted; see docs/errors.md.",
    [
      "holdfast wait fix-login",
      "holdfast wait fix-login other-way",
      "holdfast wait fix-login/2 --timeout 600",
    ],
  )
    .argument(
      "<sessions...>",
      "their names, ids, or the first characters of ids; S/2 waits only for task 2 of S",
    )
    .option("--timeout <seconds>", "wait no longer than this, and exit with 130", parsePositiveCount)
    .action(async (targets: string[], options: Options) => {
      const dispatcher = await openDispatcher(options);
      const stop = new AbortController();
      const sessions = await Promise.all(
        targets.map(async (text) => {
          const { id, label } = await resolveTarget(dispatcher, text, options);
          const { task } = parseTarget(text);
          return {
            id,
            label,
            wait: { ...scope(options), ...(task !== undefined && { task }), signal: stop.signal },
          };
        }),
      );
      // For Ctrl-C of the person, and for the timeout.
      const timer = options.timeout && setTimeout(() => stop.abort(), options.timeout * MS);
      process.once("SIGINT", () => stop.abort());
      let status: number | undefined;
      const end = (own: number) => {
        status = status || own;
      };
      try {
        await Promise.all(
          sessions.map(async ({ id, label, wait }) => {
            const waited = await waitFor(dispatcher, id, wait);
            if (waited) tell(label, waited, options);
            end(waited?.status ?? exitStatus.interrupted);
          }),
        );
      } finally {
        if (timer) clearTimeout(timer);
      }
      if (stop.signal.aborted) note("stopped waiting before all of them were done; the sessions continue");
      process.exitCode = status ?? exitStatus.done;
    });
}

const MS = 1000;

function tell(label: string, waited: Waited, options: Options): void {
  if (options.json) sayJson(waited);
  else say(textOf(label, waited));
}

function textOf(label: string, waited: Waited): string {
  const { task, outcome, why } = waited;
  const ending = why ?? endingText(waited);
  const what = task === null ? (OTHER[outcome] ?? outcome) : `task ${task} ${outcome}`;
  return `${label} ${what}${ending ? `, ${ending}` : ""}`;
}

const OTHER: Readonly<Record<string, string>> = {
  none: "has had no task",
  refused: "did not begin its task: holdfast log shows why",
  waits: "is paused, and tasks wait in it",
};
