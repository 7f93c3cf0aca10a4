import type { Command } from "commander";
import { exitStatus, HoldfastError } from "../../contract/index.ts";
import type { Dispatcher } from "../../dispatch/index.ts";
import { readWord } from "../../lane/index.ts";
import { decideOnFile, forgetTrust, type RepoFile, readRepoFile, trustOf } from "../../task/index.ts";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { canAsk } from "../ask.ts";
import { note, say, sayJson } from "../screen.ts";
import { askAbout, tellOpen } from "../trust-question.ts";
import { type CommonOptions, homeVerb, openDispatcher } from "../verb.ts";
import { wideningText } from "../widening-text.ts";

type Options = CommonOptions & {
  readonly repo: string;
  readonly base?: string;
  readonly dirty?: boolean;
  readonly yes?: boolean;
  readonly list?: boolean;
  readonly forget?: boolean;
};

export function command(): Command {
  return homeVerb(
    "trust",
    "Show what a repo's holdfast.yaml asks for beyond what a task may do by default, and accept it. It can ask for hosts (of lanes, set-up and checks), files of your checkout, a wider default lane, tools of its own, MCP servers, external tools without asking you, and for an agent: variables of yours, a wider lane or a higher budget. These take effect only after you accept them here. You accept it for this repo on this machine, until the file asks for something else.",
    ["holdfast trust", "holdfast trust --yes", "holdfast trust --list", "holdfast trust --forget"],
  )
    .option("--repo <dir>", "the repo", ".")
    .option(
      "--base <ref>",
      "use holdfast.yaml of this commit (default: the one that a new session begins with)",
    )
    .option("--dirty", "use holdfast.yaml of the checkout, with uncommitted changes")
    .option("--yes", "accept without asking, for scripts")
    .option("--list", "list what was accepted for this repo so far")
    .option(
      "--forget",
      "withdraw everything that was accepted for this repo; a running task keeps what it has",
    )
    .action(async (options: Options) => {
      if ([options.yes, options.list, options.forget].filter(Boolean).length > 1)
        throw new HoldfastError("usage", "--yes, --list and --forget can't be used together");
      const dispatcher = await openDispatcher(options, { create: true });
      if (options.list) return list(dispatcher, options);
      if (options.forget) return forget(dispatcher, options);
      await decide(dispatcher, options);
    });
}

async function decide({ home }: Dispatcher, { repo, base, dirty, ...options }: Options): Promise<void> {
  const file = await readRepoFile(home, { repo, ...present({ base, isDirty: dirty }) });
  const isOpen = file.open.length > 0;
  const isAsked = isOpen && !options.yes && !options.json && canAsk();
  const isAccepted = isAsked ? await askAbout(file) : !isOpen || options.yes === true;
  if (isAsked || (isOpen && isAccepted)) await decideOnFile(home, file, isAccepted ? "accept" : "decline");
  // A program that waits for this learns that a person has to accept it.
  if (!isAccepted) process.exitCode = exitStatus.held;
  if (options.json) return sayJson({ ...asked(file), isAccepted });
  if (!isOpen) return say(nothingOpen(file));
  if (!isAsked) tellOpen(file);
  if (isAccepted) say("accepted, from the next task on");
  else note("not accepted: tasks run without it; to accept it: holdfast trust --yes");
}

/** What the file asks for, and which parts of it were new. */
function asked({ repo, widenings, open }: RepoFile) {
  const words = widenings.map(({ key, value }) => ({ key, value }));
  return { repo: repo.checkout ?? repo.gitDir, words, open: open.map(({ key, value }) => ({ key, value })) };
}

function nothingOpen({ widenings }: RepoFile): string {
  return widenings.length === 0
    ? "holdfast.yaml asks for nothing that has to be accepted"
    : `everything is accepted: ${widenings.map(wideningText).join(", ")}`;
}

async function list({ home }: Dispatcher, { repo, json }: Options): Promise<void> {
  const { accepted } = await trustOf(home, repo);
  if (json) return sayJson(accepted.map((one) => ({ ...one, words: one.words.map(readWord) })));
  if (accepted.length === 0) return note("nothing was accepted for this repo");
  for (const { hash, at, words } of accepted) {
    say(`${hash.slice(0, 12)}  ${printable(at)}`);
    for (const word of words) say(`  ${wideningText(readWord(word))}`);
  }
}

async function forget({ home }: Dispatcher, { repo, json }: Options): Promise<void> {
  const { accepted } = await forgetTrust(home, repo);
  if (json) return sayJson({ forgotten: accepted.length });
  say(
    `${plural(accepted.length, "acceptance")} withdrawn: from the next task on, nothing is accepted for this repo`,
  );
}
