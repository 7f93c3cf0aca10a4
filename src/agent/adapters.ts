/**
 * Owns the list of adapters.
 */
import type { AcpSpec, AgentSpec } from "../contract/index.ts";
import type { Adapter } from "./adapter.ts";
import { claude } from "./claude/claude.ts";
import { exec } from "./exec.ts";

/** Its library is loaded for a task that needs it. */
const acp: Adapter<AcpSpec> = {
  name: "acp",
  goesOn: () => true,
  drive: async (work, spec) => (await import("./acp/acp.ts")).driveAcp(work, spec),
};

const adapters: { readonly [Name in AgentSpec["adapter"]]: Adapter<Extract<AgentSpec, { adapter: Name }>> } =
  {
    exec,
    claude,
    acp,
  };

export const adapterOf = ({ adapter }: AgentSpec): Adapter => adapters[adapter];
