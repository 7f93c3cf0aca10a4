/**
 * Owns the list of adapters.
 */
import type { AcpSpec, AgentSpec, ClaudeSpec } from "../contract/index.ts";
import type { Adapter } from "./adapter.ts";
import { exec } from "./exec.ts";

/** What drives these is loaded for a task that needs it: most start a command, and a start is short. */
const claude: Adapter<ClaudeSpec> = {
  name: "claude",
  goesOn: () => true,
  drive: async (work, spec) => (await import("./claude/claude.ts")).driveClaude(work, spec),
};

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
