/**
 * Owns `holdfast.yaml`: which sections it has, and the defaults. It is read as the repo wrote it; `lane/`
 * decides what of it counts.
 */
import * as z from "zod/mini";
import { hostListSchema, isShippedLane } from "../contract/index.ts";
import { agentsSection } from "./agents.ts";
import { capsuleSection } from "./capsule.ts";
import { checksSection, protectSection } from "./checks.ts";
import { parseDocument } from "./document.ts";
import { defaultLane, lanesSection, ownLane } from "./lanes.ts";
import { outputLimit, quotaSection } from "./quota.ts";
import { mcpSection, toolsSection } from "./tools.ts";

export const CONFIG_FILE = "holdfast.yaml";

const schema = z
  .strictObject({
    /** The commit that a session begins with, by a name that git knows. Default: HEAD. */
    base: z.optional(z.string().check(z.minLength(1), z.maxLength(255))),
    agents: agentsSection,
    capsule: capsuleSection,
    /** The hosts that `capsule.setup` may reach. */
    setup_hosts: z._default(hostListSchema, []),
    /** The lane of a task that names none. */
    lane: defaultLane,
    lanes: lanesSection,
    /** External tools and MCP servers, which a person has to accept. */
    tools: toolsSection,
    mcp: mcpSection,
    checks: checksSection,
    protect: protectSection,
    quota: quotaSection,
    output_mb: outputLimit,
    /** From an earlier version, whose processes waited: it is read, and has no effect. */
    idle_pause_minutes: z.optional(z.number().check(z.nonnegative())),
  })
  .check(({ value: { agents, lane, lanes }, issues }) => {
    const refuse = (path: string[], input: string) =>
      issues.push({
        code: "custom",
        path,
        message: "is not a lane of this file, nor one that comes with holdfast",
        input,
      });
    const isThere = (name: string) => isShippedLane(name) || ownLane(lanes, name) !== undefined;
    if (!isThere(lane)) refuse(["lane"], lane);
    for (const [name, agent] of Object.entries(agents))
      if (agent.lane !== undefined && !isThere(agent.lane)) refuse(["agents", name, "lane"], agent.lane);
  });

export type Config = z.infer<typeof schema>;

export const defaultConfig: Config = schema.parse({});

export function parseConfig(text: string, name = CONFIG_FILE): Promise<Config> {
  return parseDocument(schema, text, name);
}
