import type { Command } from "commander";
import { isHoldfastError } from "../../contract/index.ts";
import type { Dispatcher } from "../../dispatch/index.ts";
import type { Removal } from "../../upkeep/index.ts";
import { printable } from "../../util/index.ts";
import { bytes, plural } from "../amounts.ts";
import { ask, canAsk, confirmEnding, stopped } from "../ask.ts";
import { clip, note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, stopping, verb } from "../verb.ts";
import { namedSessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly force?: boolean; readonly branches?: boolean };

const TITLE_LENGTH = 60;

export function command(): Command {
  return verb(
    "rm",
    "Remove sessions for good: journal, files, HOME, artifacts, messages and snapshots. In a terminal, it asks first. It refuses a session with unpublished work. The session's branch in your repo stays, and so do the sessions that were forked from it. To keep a session in less space, use holdfast archive.",
    ["holdfast rm fix-login", "holdfast rm fix-login other-way --branches", "holdfast rm fix-login --force"],
  )
    .argument("<session...>", "their names, ids, or the first characters of ids")
    .option(
      "--branches",
      "also delete its branches, unless you added commits to them or have them checked out",
    )
    .option(
      "--force",
      "do not ask, and also remove a session that has unpublished work, has a running agent, is kept, is handed off or is damaged",
    )
    .action(async (prefixes: readonly string[], options: Options) => {
      const dispatcher = await openDispatcher(options);
      const [only] = prefixes;
      if (prefixes.length === 1 && only !== undefined) return one(dispatcher, only, options);
      for (const prefix of prefixes) {
        try {
          await one(dispatcher, prefix, options);
        } catch (error) {
          // A session that can't be removed must not hold up the others. Ctrl-C ends all of it.
          if (!isHoldfastError(error) || error.facts["isSignal"]) throw error;
          note(`${printable(prefix)}: ${error.code}: ${printable(error.message)} (${error.wayOut})`);
          process.exitCode ??= error.exitStatus;
        }
      }
    });
}

async function one(dispatcher: Dispatcher, prefix: string, options: Options): Promise<void> {
  // `@` is not accepted here, because what is removed can't be brought back.
  const session = await namedSessionOf(dispatcher.holdfast, prefix, options);
  const { id, label } = session;
  const removal = { force: options.force ?? false, branches: options.branches ?? false };
  if (!canAsk()) await confirmEnding(dispatcher, session, { what: "remove it" }, options);
  const plan = await dispatcher.holdfast.planRemoval(id, { ...scope(options), ...removal });
  if (!options.force && canAsk()) {
    const { isRunning } = await dispatcher.underWay(id, scope(options));
    for (const line of [
      headOf(label, plan),
      ...detailsOf(plan, "will be deleted"),
      ...(isRunning ? ["its agent is running"] : []),
    ])
      note(line);
    if (!(await ask(`remove ${label} for good?`))) throw stopped();
  }
  const gone = await dispatcher.remove(id, { ...stopping(options, label), ...removal });
  if (options.json) return sayJson(gone);
  say(`${label} removed: ${sizeOf(gone)}`);
  for (const line of detailsOf(gone, "was deleted")) say(line);
}

const sizeOf = ({ turns, tasks, bytes: size }: Removal) =>
  `${plural(turns, "turn")}, ${plural(tasks, "task")}, ${bytes(size)} of disk space`;

const headOf = (label: string, plan: Removal) =>
  `${label}${plan.title === null ? "" : ` (${clip(plan.title, TITLE_LENGTH)})`}: ${sizeOf(plan)}`;

/** What a person may want to know about a session before and after it is removed. */
function detailsOf(removal: Removal, going: "will be deleted" | "was deleted"): string[] {
  const { unpublished, unread, queued, forks, branches } = removal;
  return [
    ...unpublished.map((text) => `  unpublished: ${text}`),
    ...(unread > 0 ? [`  ${plural(unread, "unread message")}`] : []),
    ...(queued > 0 ? [`  ${plural(queued, "task")} not begun`] : []),
    ...branches.map(
      ({ name, stays }) =>
        `  branch ${printable(name)} ${stays === null ? going : `stays: ${printable(stays)}`}`,
    ),
    ...(forks > 0 ? [`  ${plural(forks, "fork")} of it: not affected`] : []),
  ];
}
