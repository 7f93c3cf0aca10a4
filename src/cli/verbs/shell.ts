import type { Command } from "commander";
import { note } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";
import { assertWindow, openWindow } from "../window.ts";

export function command(): Command {
  return verb(
    "shell",
    "Open a shell in the files of a running task, inside its sandbox. What you change there becomes part of the task. The shell ends when you press Ctrl-], or when the task's command ends.",
    ["holdfast shell fix-login", "holdfast shell @ -- htop"],
  )
    .argument("<session>", SESSION_HELP)
    .argument("[command...]", "the command to run (default: your shell)")
    .action(async (text: string, words: string[], options: CommonOptions) => {
      assertWindow();
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, text, options);
      const path = await dispatcher.openShell(id, words.length > 0 ? words : [ownShell()], scope(options));
      const end = await openWindow(path);
      if (end === "ended") note(`\r\nthe shell in ${label} has ended`);
    });
}

const ownShell = () => process.env["SHELL"] || "/bin/sh";
