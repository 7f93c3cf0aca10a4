/**
 * Owns the options of `run` that set where a task begins.
 */
import type { Command } from "commander";
import { HoldfastError } from "../contract/index.ts";
import type { Asked, SubmitOptions } from "../dispatch/index.ts";
import { present } from "../util/index.ts";
import { note, sayJson } from "./screen.ts";

export interface PlaceOptions {
  readonly repo?: string | false;
  readonly cwd?: string;
  readonly dirty?: boolean;
  readonly base?: string;
}

export function withPlace(command: Command): Command {
  // For the parser, --repo and --no-repo are one option, of which the last counts.
  const said = new Set<string>();
  for (const option of ["repo", "no-repo"]) command.on(`option:${option}`, () => said.add(option));
  command.hook("preAction", () => {
    if (said.size > 1)
      throw new HoldfastError("usage", "--repo and --no-repo exclude each other: choose one");
  });
  return command
    .option(
      "--cwd <dir>",
      "start in this directory of the repo (default: the one that you are in, else the top)",
    )
    .option(
      "--no-repo",
      "run without a repo, in an empty directory; the session keeps what the task writes there",
    )
    .option("--dirty", "start from the checkout as it is, including uncommitted changes and untracked files");
}

export type BeginningPlace = Pick<SubmitOptions, "where" | "isDirty">;

export function placeOf({ repo, cwd, dirty, base }: PlaceOptions): BeginningPlace {
  if (dirty && base !== undefined)
    throw new HoldfastError(
      "usage",
      "--dirty begins with the checkout, and --base with the commit that it names: choose one",
    );
  if (repo === false && (dirty || base !== undefined))
    throw new HoldfastError("usage", "--dirty and --base need a repo: leave them out with --no-repo");
  const where = { here: process.cwd(), ...present({ repo: repo || undefined, cwd }) };
  return { where, ...present({ isDirty: dirty }) };
}

type Unseen = NonNullable<Awaited<ReturnType<Asked["unseen"]>>>;

/**
 * Tells which files of the checkout the task does not see: one line for all, and one for a configuration file
 * among them.
 */
export async function tellUnseen(
  asked: Pick<Asked, "unseen">,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const unseen = await asked.unseen();
  if (!unseen) return;
  const tell = (line: string) => note(`[base]    ${line}`);
  if (json) sayJson({ stage: "base", unseen });
  else for (const line of [unseenText(unseen), ...unseen.named.map(uncommittedText)]) tell(line);
}

const uncommittedText = (file: string) => `${file} is not committed: the task uses the one of its base`;

function unseenText({ changed, untracked }: Unseen): string {
  const counts = [
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(untracked > 0 ? [`${untracked} untracked`] : []),
  ];
  const isOne = changed + untracked === 1;
  return `the checkout has ${counts.join(" and ")} ${isOne ? "file" : "files"} that the task does not see; --dirty includes ${isOne ? "it" : "them"}`;
}
