import type { Command } from "commander";
import { parseSessionId } from "../../contract/index.ts";
import { readOffered } from "../../gateway/index.ts";
import { sessionDirOf } from "../../home/index.ts";
import { hasTool } from "../../lane/index.ts";
import { inspectSession } from "../../session/index.ts";
import { printable } from "../../util/index.ts";
import { note, paint, sayJson, table } from "../screen.ts";
import { resolveTarget, TASK_HELP } from "../target.ts";
import { type CommonOptions, openDispatcher, verb } from "../verb.ts";

const DESCRIPTION_LENGTH = 60;

export function command(): Command {
  return verb(
    "tools",
    "Show the tools of a session's agent: the class of each, whether you are asked before it is used, and how many tokens its description costs a model.",
    ["holdfast tools fix-login", "holdfast tools fix-login --json"],
  )
    .argument("<session>", TASK_HELP)
    .action(async (target: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id } = await resolveTarget(dispatcher, target, options);
      const dir = sessionDirOf(dispatcher.home, parseSessionId(id));
      const lane = (await inspectSession(dir)).state.task?.lane ?? null;
      const { tools, isKept } = readOffered(dir);
      const rows = tools
        .filter((tool) => !lane || hasTool(lane.tools, tool.class, tool.name))
        .map((tool) => ({ ...tool, asks: lane?.tools.approval.includes(tool.class) ?? false }));
      if (options.json) return sayJson({ session: id, lane: lane?.name ?? null, isKept, tools: rows });
      table([
        ["TOOL", "CLASS", "ASKS", "TOKENS", "DOES"].map((head) => paint("dim", head)),
        ...rows.map(({ name, class: kind, asks, tokens, description }) => [
          printable(name),
          kind,
          asks ? "yes" : "no",
          String(tokens),
          printable(description.split("\n", 1)[0]?.slice(0, DESCRIPTION_LENGTH) ?? ""),
        ]),
      ]);
      note(`${rows.reduce((sum, { tokens }) => sum + tokens, 0)} tokens in all`);
      if (!isKept)
        note(
          "external tools and those of MCP servers are not listed yet: the session has had no task that uses them",
        );
    });
}
