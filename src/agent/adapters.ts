/**
 * Owns the list of adapters, and loads large parts of them only when they are needed.
 */
import type { AcpSpec, AgentSpec, ClaudeSpec, ScriptSpec } from "../contract/index.ts";
import type { Adapter } from "./adapter.ts";
import { exec } from "./exec.ts";

/** Loaded for a task that needs it: most tasks start a command, and a command should start quickly. */
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

const script: Adapter<ScriptSpec> = {
  name: "script",
  goesOn: () => true,
  drive: async (work, spec) => (await import("./script/script.ts")).driveScript(work, spec),
};

const adapters: { readonly [Name in AgentSpec["adapter"]]: Adapter<Extract<AgentSpec, { adapter: Name }>> } =
  {
    exec,
    claude,
    acp,
    script,
  };

export const adapterOf = ({ adapter }: AgentSpec): Adapter => adapters[adapter];

/** Fails when the text is not a valid script, or uses a variable that it is not given. */
export async function assertScript(text: string, vars: Readonly<Record<string, string>>): Promise<void> {
  await (await import("./script/form.ts")).parseScript(text, vars);
}
