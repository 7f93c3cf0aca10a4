/**
 * Owns which kinds of tools, by the names of the Agent Client Protocol, a task may use. The sandbox applies
 * in any case.
 */
import type { ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk";
import type { ToolClasses } from "../adapter.ts";
import { GATE_SERVER } from "../gate-access.ts";

const HARMLESS: readonly ToolKind[] = ["read", "search", "think"];
const EDITING: readonly ToolKind[] = ["edit", "delete", "move"];

/** How agents name a tool of a server: opencode, goose and Gemini CLI each have a form of their own. */
const OF_GATE = new RegExp(`^(mcp__)?${GATE_SERVER}(__?|: )\\w|^\\w+ \\(${GATE_SERVER} MCP Server\\)$`);

/** Whether it is one of the session's own tools. The gate judges those. Agents report the kind of their own tools. */
export const isOfGate = ({ name, title, kind }: Pick<ToolCallUpdate, "name" | "title" | "kind">) =>
  (kind ?? "other") === "other" && [name, title].some((text) => OF_GATE.test(text ?? ""));

/** Undefined: the tool may be used. A tool without a kind may do anything. */
export function whyNotKind(
  kind: ToolKind | null | undefined,
  { isReadOnly, isWithoutCommands, hasHosts }: ToolClasses,
): string | undefined {
  if (kind === "fetch") return hasHosts ? undefined : "the task's lane allows no hosts";
  const isOneOf = (kinds: readonly ToolKind[]) => kinds.some((one) => one === kind);
  if (isOneOf(HARMLESS)) return undefined;
  if (isReadOnly) return "the task's lane is read-only";
  return isWithoutCommands && !isOneOf(EDITING) ? "the task's lane allows no commands" : undefined;
}
