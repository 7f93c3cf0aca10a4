/**
 * Owns how an agent reaches the session's tools: as an MCP server with this name.
 */
import type { ToolsWanted } from "../contract/index.ts";
import type { GateAccess, Workplace } from "./adapter.ts";

export const GATE_SERVER = "holdfast";

/** Undefined: the agent has tools of its own, and there are none to add. */
export async function gateFor(
  work: Pick<Workplace, "hasGate" | "gate">,
  { tools = "own" }: { readonly tools?: ToolsWanted | undefined },
): Promise<GateAccess | undefined> {
  return work.hasGate ? work.gate.access(tools) : undefined;
}
