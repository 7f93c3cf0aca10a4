import { resolve } from "node:path";
import type { Command } from "commander";
import type { LocalHome } from "../../library/index.ts";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

type Options = CommonOptions & { readonly repo?: string };

export function command(): Command {
  return verb(
    "import",
    "Import a session from a file that holdfast export wrote. The whole file is checked first. The imported session is paused, and belongs to you.",
    ["holdfast import login-timeout.holdfast --repo ."],
  )
    .argument("<file>", "the exported file")
    .option("--repo <dir>", "the repo on this machine that it continues with; its files are restored, too")
    .action(async (file: string, options: Options) => {
      const home = await openHome(options, { create: true });
      const id = await home.importSession(resolve(file), {
        ...scope(options),
        ...present({ repo: options.repo === undefined ? undefined : await home.resolveRepo(options.repo) }),
      });
      await tellDropped(home, id, options);
      if (options.json) sayJson(await home.showSession(id, scope(options)));
      else {
        const session = await home.showSession(id, scope(options));
        const { task, lacksRepo } = session;
        const files = task?.snapshot
          ? lacksRepo
            ? ", its files set aside until it has a repo (--repo)"
            : ", with its files"
          : "";
        say(`${labelOf(session)} imported, paused${files}`);
      }
    });
}

/** Unread messages for another user are not given to the person who imports the session. */
async function tellDropped(home: LocalHome, id: string, options: Options): Promise<void> {
  let owner = "";
  for await (const { type, data } of home.readJournal(id, scope(options))) {
    const dropped = type === "session_imported" ? Number(data["droppedMessages"] ?? 0) : 0;
    if (dropped > 0) note(`dropped ${plural(dropped, "unread message")} for ${printable(owner)}`);
    owner = typeof data["user"] === "string" ? data["user"] : owner;
  }
}
