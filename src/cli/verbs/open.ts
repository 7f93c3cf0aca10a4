import type { Command } from "commander";
import type { Dispatcher } from "../../dispatch/index.ts";
import { runInForeground } from "../../process/index.ts";
import { printable } from "../../util/index.ts";
import { confirmEnding, type ForceOptions, withForce } from "../ask.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, stopping, verb } from "../verb.ts";
import { type NamedSession, SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & ForceOptions & { readonly print?: boolean };

export function command(): Command {
  const open = verb(
    "open",
    "Open a session's files in your editor ($VISUAL, else $EDITOR) and print where they are. If the capsule has a path on this machine, that path is opened. Otherwise the files are handed off into a directory, and holdfast handoff --return takes them back.",
    ["holdfast open fix-login", 'cd "$(holdfast open fix-login --print)"'],
  )
    .argument("<session>", SESSION_HELP)
    .option("--print", "only print where they are");
  return withForce(open).action(async (text: string, options: Options) => {
    const dispatcher = await openDispatcher(options);
    const session = await sessionOf(dispatcher.holdfast, text, options);
    const { directory, isHandedOver } = await filesOf(dispatcher, session, options);
    if (options.json) return sayJson({ session: session.id, directory, isHandedOver });
    say(printable(directory));
    if (isHandedOver) note(`to give them back: holdfast handoff ${session.label} --return`);
    const editor = process.env["VISUAL"] || process.env["EDITOR"];
    if (options.print || !process.stdout.isTTY) return;
    if (!editor) return note("no editor was opened: set $EDITOR");
    // As in git, the variable may contain arguments.
    process.exitCode = await runInForeground(["sh", "-c", `${editor} "$@"`, editor, directory], directory);
  });
}

async function filesOf(
  dispatcher: Dispatcher,
  session: NamedSession,
  options: Options,
): Promise<{ readonly directory: string; readonly isHandedOver: boolean }> {
  const { holdfast } = dispatcher;
  const { id } = session;
  const { user, handoff } = await holdfast.showSession(id, scope(options));
  if (handoff?.directory) return { directory: handoff.directory, isHandedOver: true };
  const live = await holdfast.openFiles(id, scope(options));
  if (live !== undefined) return { directory: live, isHandedOver: false };
  await confirmEnding(dispatcher, session, { what: "hand its files over" }, options);
  const handed = await dispatcher.withoutProcess(id, stopping(options, session.label), () =>
    holdfast.handOffSession(id, { ...scope(options), to: user }),
  );
  return { directory: handed.directory, isHandedOver: true };
}
