/**
 * Owns which of Claude Code's own tools a task may use. What it may not use is not offered to the model, and refused if
 * it is called all the same. That is for the agent's sake, which then doesn't try in vain: the sandbox is what holds.
 */
import type { ToolClasses } from "../adapter.ts";

const COMMANDS = ["Bash"];
/** A command is one too, whole: what a command does can't be told from its text. */
const WRITING = [...COMMANDS, "Edit", "MultiEdit", "NotebookEdit", "Write"];
/** What reaches out of the machine, by the agent itself or by its provider. */
const REACHING = ["WebFetch", "WebSearch"];
/** What would work on other files than the task's, ask a person who isn't there, or outlive the task. */
const NEVER = ["AskUserQuestion", "CronCreate", "CronDelete", "CronList", "EnterWorktree", "ScheduleWakeup"];
/** Servers of the user's own are not in the sandbox, and go through no gate of ours. */
const OF_A_SERVER = /^mcp__/;

export function disallowedTools({ isReadOnly, isWithoutCommands, hasHosts }: ToolClasses): string[] {
  return [
    ...NEVER,
    ...(isReadOnly ? WRITING : isWithoutCommands ? COMMANDS : []),
    ...(hasHosts ? [] : REACHING),
  ];
}

/** Undefined: it may be used. */
export function whyNotTool(tool: string, classes: ToolClasses): string | undefined {
  if (OF_A_SERVER.test(tool)) return `${tool} is a tool of a server that the task's lane does not have`;
  return disallowedTools(classes).includes(tool) ? `${tool} is not in the task's lane` : undefined;
}
