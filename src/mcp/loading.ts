/**
 * Owns when the protocol's libraries are loaded: for the first client, and when there are servers. They are
 * the larger part of a session process that uses them.
 */

import type { Gate } from "../gateway/index.ts";
import type { Tool } from "../lane/index.ts";
import type { McpFace } from "./face.ts";
import type { ServersPlace } from "./upstream/servers.ts";

export type { McpFace } from "./face.ts";

export async function openMcpFace(gate: Gate): Promise<McpFace> {
  return new (await import("./face.ts")).McpFace(gate);
}

/** The upstream servers of a task. */
export interface UpstreamServers {
  /** The tools of all servers; with a name, of the server that a tool of this name would belong to. */
  tools(name?: string): Promise<readonly Tool[]>;
  close(): Promise<void>;
}

export async function openServers(place: ServersPlace): Promise<UpstreamServers> {
  if (Object.keys(place.servers).length === 0) return { tools: async () => [], close: async () => {} };
  return new (await import("./upstream/servers.ts")).UpstreamServers(place);
}
