import type { Command } from "commander";
import { isShippedLane } from "../../contract/index.ts";
import { listLanes } from "../../lane/index.ts";
import { type RepoFile, readRepoFile } from "../../task/index.ts";
import { present, printable } from "../../util/index.ts";
import { laneLines } from "../lane-text.ts";
import { paint, say, sayJson } from "../screen.ts";
import { type CommonOptions, homeVerb, openDispatcher } from "../verb.ts";
import { wideningText } from "../widening-text.ts";

type Options = CommonOptions & { readonly repo?: string; readonly base?: string };

const WIDTH = 9;

export function command(): Command {
  return homeVerb(
    "lanes",
    "Show what tasks of this repo may do: each lane in plain words, both those that come with Holdfast and those of holdfast.yaml. holdfast run --lane chooses the lane of a task. Requests of holdfast.yaml that you have not accepted are listed, but have no effect.",
    ["holdfast lanes", "holdfast lanes --repo ../app --json"],
  )
    .option("--repo <dir>", "the repo (default: where you are)")
    .option(
      "--base <ref>",
      "use holdfast.yaml of this commit (default: the one that a new session begins with)",
    )
    .action(async ({ repo = ".", base, ...options }: Options) => {
      const { home } = await openDispatcher(options);
      const file = await readRepoFile(home, { repo, ...present({ base }) });
      if (options.json) return sayJson(document(file));
      for (const { isDefault, notAccepted, ...lane } of explained(file)) {
        say(`${paint("bold", printable(lane.name))}${isDefault ? "  the default" : ""}`);
        for (const [what, text] of laneLines(lane)) say(`  ${what.padEnd(WIDTH)}${printable(text)}`);
        for (const word of notAccepted)
          say(`  ${"not yet".padEnd(WIDTH)}${wideningText(word)} (not accepted)`);
      }
      if (file.open.length > 0) say("to see what is not accepted, and to accept it: holdfast trust");
    });
}

/** Each lane as it counts now, with the parts that do not count yet. */
function explained({ config, open }: RepoFile) {
  return listLanes(config).map((lane) => ({
    ...lane,
    isDefault: lane.name === config.lane,
    isShipped: isShippedLane(lane.name),
    notAccepted: open.filter((word) => word.lane === lane.name || isDefaultAsked(word, lane.name)),
  }));
}

const isDefaultAsked = ({ key, value }: RepoFile["open"][number], name: string) =>
  key === "lane" && value === name;

function document(file: RepoFile) {
  const { config, open } = file;
  return {
    default: config.lane,
    setupHosts: config.setup_hosts,
    lanes: explained(file),
    notAccepted: open,
  };
}
