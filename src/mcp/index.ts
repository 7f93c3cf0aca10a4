export { type McpFace, openMcpFace, openServers, type UpstreamServers } from "./loading.ts";
export type { Offer } from "./server.ts";
export { layShim, SHIM_FILE } from "./shim.ts";
