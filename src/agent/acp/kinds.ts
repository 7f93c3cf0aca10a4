/**
 * Owns which kinds of tools, in the words of the Agent Client Protocol, a task may use. The sandbox holds in any case.
 */
import type { ToolKind } from "@agentclientprotocol/sdk";
import type { ToolClasses } from "../adapter.ts";

const HARMLESS: readonly ToolKind[] = ["read", "search", "think"];
const EDITING: readonly ToolKind[] = ["edit", "delete", "move"];

/** Undefined: it may be used. One whose kind the agent doesn't tell may do anything. */
export function whyNotKind(
  kind: ToolKind | null | undefined,
  { isReadOnly, isWithoutCommands, hasHosts }: ToolClasses,
): string | undefined {
  if (kind === "fetch") return hasHosts ? undefined : "the task's lane has no hosts";
  const isOneOf = (kinds: readonly ToolKind[]) => kinds.some((one) => one === kind);
  if (isOneOf(HARMLESS)) return undefined;
  if (isReadOnly) return "the task's lane is read-only";
  return isWithoutCommands && !isOneOf(EDITING) ? "the task's lane runs no commands" : undefined;
}
