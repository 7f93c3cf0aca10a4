/**
 * Owns how a session's tools appear to an MCP client: the list of tools, and the answer of a call.
 */
import { Server } from "@modelcontextprotocol/server";
import type { JsonObject } from "../contract/index.ts";
import type { Gate } from "../gateway/index.ts";

/** Tools that an agent with tools of its own already has, and is not offered. */
const OF_AGENTS: ReadonlySet<string> = new Set([
  "read_file",
  "list_files",
  "search_code",
  "git_diff",
  "git_log",
  "edit_file",
  "write_file",
  "run_command",
  "end_command",
  "git_commit",
]);

/** `beside`: for an agent with tools of its own, only those that it lacks. */
export type Offer = "all" | "beside";

export function mcpServerOf(gate: Gate, offer: Offer): Server {
  const server = new Server({ name: "holdfast", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => {
    const tools = await gate.list();
    const offered = offer === "all" ? tools : tools.filter(({ name }) => !OF_AGENTS.has(name));
    return {
      tools: offered.map(({ name, class: kind, description, input }) => ({
        name,
        description,
        inputSchema: { ...input, type: "object" as const },
        annotations: { readOnlyHint: kind === "read", openWorldHint: kind === "external" },
      })),
    };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    let said = 0;
    const progress = (message: string) => {
      if (progressToken === undefined) return;
      said += 1;
      mcpReq
        .notify({ method: "notifications/progress", params: { progressToken, progress: said, message } })
        .catch(() => {});
    };
    const { signal } = mcpReq;
    const args = (params.arguments ?? {}) as JsonObject;
    const { outcome, text, facts } = await gate.call(params.name, args, { signal, progress });
    return {
      content: [{ type: "text", text }],
      isError: outcome !== "ok",
      ...(facts && { structuredContent: facts }),
    };
  });
  return server;
}
