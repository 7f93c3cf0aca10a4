import type { Command } from "commander";
import { exitStatus, HoldfastError, isHoldfastError } from "../../contract/index.ts";
import type { Dispatcher } from "../../dispatch/index.ts";
import { printable } from "../../util/index.ts";
import { bytes, plural } from "../amounts.ts";
import { confirmEnding, type ForceOptions, withForce } from "../ask.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, stopping, verb } from "../verb.ts";
import { type NamedSession, namedSessionOf, SESSION_HELP } from "../which-session.ts";

type Options = CommonOptions & ForceOptions & { readonly failed?: boolean; readonly dropIgnored?: boolean };

export function command(): Command {
  const teardown = verb(
    "teardown",
    "Remove a session's capsule, after a snapshot of all of it; holdfast restore brings it back. The caches in its HOME are deleted, too. Asks before it ends a running agent.",
    ["holdfast teardown fix-login", "holdfast teardown --failed"],
  );
  return withForce(teardown)
    .argument("[session]", SESSION_HELP)
    .option(
      "--failed",
      "tear down every session of yours, of any repo, whose last task failed, was cancelled or was interrupted, and that is neither running nor closed",
    )
    .option("--drop-ignored", "tear it down even if ignored files over max_ignored_mb are lost")
    .action(async (prefix: string | undefined, options: Options) => {
      if ((prefix === undefined) !== Boolean(options.failed))
        throw new HoldfastError("usage", "name a session, or give --failed");
      const dispatcher = await openDispatcher(options);
      const home = dispatcher.holdfast;
      if (prefix !== undefined) {
        const session = await namedSessionOf(home, prefix, options);
        await confirmEnding(dispatcher, session, { what: "tear it down" }, options);
        return one(dispatcher, session, options);
      }
      const failed = (await home.listSessions(scope(options))).filter(
        ({ task, status }) =>
          task?.capsule === "there" &&
          ["failed", "cancelled", "interrupted"].includes(task.outcome ?? "") &&
          status !== "closed",
      );
      for (const { id, name } of failed) {
        if ((await dispatcher.underWay(id, scope(options))).isRunning) continue;
        try {
          await one(dispatcher, { id, label: name ?? id }, options);
        } catch (error) {
          // A capsule that can't be taken away must not hold up the others.
          if (!isHoldfastError(error)) throw error;
          note(`${name ?? id}: ${error.code}: ${printable(error.message)}`);
          process.exitCode = exitStatus.refused;
        }
      }
      if (failed.length === 0 && !options.json) say("no failed task has a capsule");
    });
}

async function one(dispatcher: Dispatcher, { id, label }: NamedSession, options: Options): Promise<void> {
  const receipt = await dispatcher.withoutProcess(id, stopping(options, label), () =>
    dispatcher.holdfast.tearDownSession(id, { ...scope(options), dropIgnored: options.dropIgnored ?? false }),
  );
  if (options.json) return sayJson({ session: id, ...receipt });
  const { task, snapshot, freedBytes, cacheBytes, ports, omitted, wasMissing } = receipt;
  say(`${label} task ${task}: capsule torn down`);
  say(
    `  snapshot   ${snapshot ?? "none: the files were gone before one was taken"}${wasMissing && snapshot ? " (the last one, because the files were gone)" : ""}`,
  );
  say("  processes  none left");
  say(`  ports      ${ports.length > 0 ? `${ports.join(", ")} released` : "none leased"}`);
  say(`  freed      ${bytes(freedBytes)} beyond the base`);
  if (cacheBytes > 0) say(`             ${bytes(cacheBytes)} of caches in its HOME`);
  if (omitted.length > 0) say(`  dropped    ${plural(omitted.length, "ignored file")}`);
  if (snapshot) say(`  undo       holdfast restore ${label}`);
}
