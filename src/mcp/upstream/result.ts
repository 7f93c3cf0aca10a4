/**
 * Owns how the result of a server's tool becomes text: an agent gets the readable parts, and a note about
 * each other part.
 */
import type { CallToolResult } from "@modelcontextprotocol/client";

export function textOf({ content = [], structuredContent }: Partial<CallToolResult>): string {
  const parts = content.map((part) => {
    switch (part.type) {
      case "text":
        return part.text;
      case "image":
      case "audio":
        return `[${part.type}, ${part.mimeType}, ${part.data.length} characters of base64, left out]`;
      case "resource_link":
        return `[resource ${part.uri}]`;
      case "resource":
        return "text" in part.resource ? part.resource.text : `[resource ${part.resource.uri}, left out]`;
      default:
        return "[a part of an unknown kind, left out]";
    }
  });
  if (parts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return parts.join("\n").toWellFormed();
}
