/**
 * The manifests of agents are found by name and version, and docs/agents.md agrees with them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Capability,
  capabilities,
  knownAgents,
  type Manifest,
  manifestOf,
} from "../../src/agent/index.ts";

const root = join(import.meta.dirname, "..", "..");

function tableOf(manifests: readonly Manifest[]): string {
  const rows = (Object.keys(capabilities) as Capability[]).map((name) => [
    capabilities[name],
    ...manifests.map(({ can }) => (can[name] ? "yes" : "no")),
  ]);
  const head = ["can", ...manifests.map(({ agent, version }) => `${agent} ${version}`)];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

describe("the manifests of agents", () => {
  it("include one for every known agent, found by its name and by the version that was tried", () => {
    for (const { name } of knownAgents) {
      const last = manifestOf(name);
      expect(last, name).toBeDefined();
      expect(manifestOf(name, last?.version)).toBe(last);
      expect(manifestOf(name, "0.0.0-never-tried")).toBeUndefined();
    }
    expect(manifestOf("unknown")).toBeUndefined();
  });

  it("agree with docs/agents.md, which has the last one of each agent", () => {
    const manifests = knownAgents.flatMap(({ name }) => manifestOf(name) ?? []);
    expect(readFileSync(join(root, "docs", "agents.md"), "utf8")).toContain(tableOf(manifests));
  });
});
