import { createInterface } from "node:readline";
import type { Command } from "commander";
import type { Dispatcher, SessionView } from "../../dispatch/index.ts";
import { drivenTask } from "../../session/index.ts";
import { plural } from "../amounts.ts";
import { lookOn } from "../looking-on.ts";
import { note, say, sayJson } from "../screen.ts";
import { inWindow } from "../session-window.ts";
import { TaskView } from "../task-view.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "attach",
    "Look on while a session works: its stages and its output. What you type goes to its inbox, a message a line. A session with a terminal (run -i) is shown as it is; Ctrl-] leaves it. Otherwise Ctrl-C interrupts the turn, and a second one leaves.",
    ["holdfast attach fix-login"],
  )
    .argument("<session>", SESSION_HELP)
    .action(async (prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const named = await sessionOf(dispatcher.holdfast, prefix, options);
      const { id, label } = named;
      const shown = await dispatcher.show(id, scope(options));
      const { user, records, task, waits } = shown;
      const running = dispatcher.processOf(id);
      if (!running && waits === null) return tellRest(label, shown, options);
      if (running?.terminal && (await inWindow(dispatcher, named, options)) === "left") return;
      const request = drivenTask({ task })?.request ?? null;
      const wasShown = running?.terminal != null;
      const view = new TaskView({ session: named, user, json: options.json ?? false, wasShown });
      const lines = sendLines(dispatcher, id, options);
      const looking = { session: named, ...scope(options), view, request, fromSeq: records + 1 };
      try {
        process.exitCode = await lookOn(dispatcher, looking);
      } finally {
        lines.close();
      }
    });
}

/** Nothing runs: how its last task ended, and what lies there for the next. */
function tellRest(label: string, shown: SessionView, options: CommonOptions): void {
  if (options.json) {
    sayJson(shown);
    return;
  }
  const { standing, why, status, task, unread } = shown;
  if (standing === "parked") {
    say(`task ${task?.number} of ${label} is parked: ${why}`);
    return;
  }
  const last = task
    ? `task ${task.number} ${task.outcome ?? "did not end"}${task.branch ? `, branch ${task.branch}` : ""}`
    : "it had no task yet";
  say(`${label} is ${status}: ${last}`);
  if (unread > 0) note(`${plural(unread, "message")} unread: for its next task`);
  note(`holdfast log ${label} tells more; holdfast run --session ${label} gives it a task`);
}

/** What is typed, or piped in, becomes messages. */
function sendLines(dispatcher: Dispatcher, id: string, options: CommonOptions) {
  const input = process.stdin;
  const lines = createInterface({ input });
  let sending: Promise<unknown> = Promise.resolve();
  lines.on("line", (line) => {
    if (line === "") return;
    sending = sending
      .then(() => dispatcher.send(id, line, scope(options)))
      .catch((error: unknown) => note(error instanceof Error ? error.message : String(error)));
  });
  return lines;
}
