import type { Command } from "commander";
import { exitStatus, HoldfastError } from "../../contract/index.ts";
import { type AskedOfPerson, type Dispatcher, Requests } from "../../dispatch/index.ts";
import { grantTo } from "../../operator/index.ts";
import { canAsk } from "../ask.ts";
import {
  aboutText,
  assertShown,
  isGiven,
  isTyped,
  shownOf,
  TYPED_LENGTH,
  tellMade,
  tellWhole,
} from "../deciding.ts";
import { note, say, sayJson } from "../screen.ts";
import { TypedLines } from "../typed-lines.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly yes?: boolean; readonly fingerprint?: string };

export function command(): Command {
  return verb(
    "approve",
    "Approve one action of a session: exactly the one that is shown, once, within ten minutes. At a terminal, you confirm it by typing the first characters of its fingerprint. You approve each action separately.",
    ["holdfast approve appr_01k", "holdfast approve appr_01k --yes --fingerprint 3f9a0c1b2d4e"],
  )
    .argument("<approval>", "the approval's id, or the first characters of it; holdfast approvals lists them")
    .option("--yes", "do not ask; for scripts, together with --fingerprint")
    .option("--fingerprint <hex>", "the fingerprint of the action, or at least its first 8 characters")
    .action(async (prefix: string, options: Options) => {
      if ((options.yes === undefined) !== (options.fingerprint === undefined))
        throw new HoldfastError(
          "usage",
          "--yes and --fingerprint need each other: a script names the action that it approves",
        );
      const dispatcher = await openDispatcher(options);
      const asked = await new Requests(dispatcher).find("approval", prefix, scope(options));
      await confirm(dispatcher, asked, options);
      const made = await grantTo(dispatcher, asked);
      const { id, session, label } = asked;
      if (options.json) return sayJson({ approval: id, session, isGranted: true, process: made.process });
      say(`granted ${id} of ${label}: once, within ten minutes`);
      tellMade(asked, made);
    });
}

/** Returns when the person named the right fingerprint. Until then nothing has changed. */
async function confirm(dispatcher: Dispatcher, asked: AskedOfPerson, options: Options): Promise<void> {
  const shown = await shownOf(dispatcher, asked, options.json ? process.stderr : process.stdout);
  const fingerprint = String(asked.data["fingerprint"]);
  if (options.fingerprint !== undefined) {
    assertShown(dispatcher, shown);
    if (!isGiven(options.fingerprint, fingerprint)) throw wrong(asked);
    return;
  }
  tellWhole(shown, options.json ? note : say);
  assertShown(dispatcher, shown);
  if (!canAsk())
    throw new HoldfastError(
      "terminal_missing",
      `approving ${asked.id} needs a terminal, or --yes --fingerprint F`,
    );
  if (!isTyped(await typedFor(asked), fingerprint)) throw wrong(asked);
}

async function typedFor(asked: AskedOfPerson): Promise<string> {
  const typed = new TypedLines();
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once("SIGINT", onInterrupt);
  try {
    const question = `Approve ${aboutText(asked)}?\nType the first ${TYPED_LENGTH} characters of the fingerprint: `;
    return (await typed.ask(question, stop.signal, new Promise(() => {}))) ?? "";
  } finally {
    process.off("SIGINT", onInterrupt);
    typed.close();
  }
}

function wrong({ id }: AskedOfPerson): HoldfastError {
  process.exitCode = exitStatus.refused;
  return new HoldfastError("grant_invalid", `that is not the fingerprint of ${id}; nothing was changed`);
}
