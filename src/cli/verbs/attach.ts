import type { Command } from "commander";
import type { Dispatcher, SessionView } from "../../dispatch/index.ts";
import { drivenTask } from "../../session/index.ts";
import { plural } from "../amounts.ts";
import { lookOn } from "../looking-on.ts";
import { note, say, sayJson } from "../screen.ts";
import { inWindow } from "../session-window.ts";
import { TaskView } from "../task-view.ts";
import { TypedLines } from "../typed-lines.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "attach",
    "Watch a session while it works: its stages and its output. Each line that you type is sent to its inbox as a message. Ctrl-C interrupts the turn; a second Ctrl-C detaches and leaves the session running. If the session has a terminal (run -i), you get that terminal; Ctrl-] detaches.",
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
      const typed = sendLines(dispatcher, id, options);
      const looking = { session: named, ...scope(options), view, request, fromSeq: records + 1, typed };
      process.exitCode = await lookOn(dispatcher, looking);
    });
}

/** When nothing runs: how its last task ended, and which messages wait for the next one. */
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
    : "it has had no task yet";
  say(`${label} is ${status}: ${last}`);
  if (unread > 0) note(`${plural(unread, "message")} unread: its next task takes them in`);
  note(`holdfast log ${label} shows what happened; holdfast run --session ${label} gives it a task`);
}

/** What a person types or pipes in becomes messages, unless it answers a question. */
function sendLines(dispatcher: Dispatcher, id: string, options: CommonOptions): TypedLines {
  let sending: Promise<unknown> = Promise.resolve();
  const typed = new TypedLines((line) => {
    if (line === "") return;
    sending = sending
      .then(() => dispatcher.send(id, line, scope(options)))
      .catch((error: unknown) => note(error instanceof Error ? error.message : String(error)));
  });
  typed.open();
  return typed;
}
