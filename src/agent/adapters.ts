/**
 * Owns the list of adapters.
 */
import type { AgentSpec } from "../contract/index.ts";
import type { Adapter } from "./adapter.ts";
import { exec } from "./exec.ts";

const adapters: { readonly [Name in AgentSpec["adapter"]]: Adapter<Extract<AgentSpec, { adapter: Name }>> } =
  {
    exec,
  };

export const adapterOf = ({ adapter }: AgentSpec): Adapter => adapters[adapter];
