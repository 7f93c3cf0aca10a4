/**
 * Owns which of Claude Code's own tools a task may use. Other tools are not offered to the model, and are
 * refused if it calls them anyway. That only saves the agent vain attempts: the sandbox is what enforces the
 * lane.
 */
import type { ToolClasses } from "../adapter.ts";
import { GATE_SERVER } from "../gate-access.ts";

const COMMANDS = ["Bash"];
/** Commands as a whole are among them, because the text of a command does not show what it does. */
const WRITING = [...COMMANDS, "Edit", "MultiEdit", "NotebookEdit", "Write"];
/** Tools that reach out of the machine, from the agent itself or from its provider. */
const REACHING = ["WebFetch", "WebSearch"];
/** Tools that would use files outside of the task, ask a person who is not there, or outlive the task. */
const NEVER = ["AskUserQuestion", "CronCreate", "CronDelete", "CronList", "EnterWorktree", "ScheduleWakeup"];
/** The user's own servers are not in the sandbox, and do not go through the gate. */
const OF_A_SERVER = /^mcp__/;

/** One of the session's own tools. Its gate judges and records it. */
export const isOfGate = (tool: string) => tool.startsWith(`mcp__${GATE_SERVER}__`);

export function disallowedTools({ isReadOnly, isWithoutCommands, hasHosts }: ToolClasses): string[] {
  return [
    ...NEVER,
    ...(isReadOnly ? WRITING : isWithoutCommands ? COMMANDS : []),
    ...(hasHosts ? [] : REACHING),
  ];
}

/** Undefined: it may be used. */
export function whyNotTool(tool: string, classes: ToolClasses): string | undefined {
  if (isOfGate(tool)) return undefined;
  if (OF_A_SERVER.test(tool)) return `${tool} belongs to a server that the task's lane does not have`;
  return disallowedTools(classes).includes(tool) ? `${tool} is not in the task's lane` : undefined;
}
