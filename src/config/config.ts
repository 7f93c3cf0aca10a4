/**
 * Owns `holdfast.yaml`: which sections it has, and what holds where nothing is said. It is as the repo wrote it: what of
 * it counts is said by `lane/`.
 */
import * as z from "zod/mini";
import { hostListSchema, isShippedLane } from "../contract/index.ts";
import { agentsSection } from "./agents.ts";
import { capsuleSection } from "./capsule.ts";
import { checksSection, protectSection } from "./checks.ts";
import { parseDocument } from "./document.ts";
import { defaultLane, lanesSection, ownLane } from "./lanes.ts";
import { outputLimit, quotaSection } from "./quota.ts";

export const CONFIG_FILE = "holdfast.yaml";

const schema = z
  .strictObject({
    /** What a session begins with, by a name of git's: HEAD where nothing is said. */
    base: z.optional(z.string().check(z.minLength(1), z.maxLength(255))),
    agents: agentsSection,
    capsule: capsuleSection,
    /** What `capsule.setup` may reach. */
    setup_hosts: z._default(hostListSchema, []),
    /** The one that a task gets where none is named. */
    lane: defaultLane,
    lanes: lanesSection,
    checks: checksSection,
    protect: protectSection,
    quota: quotaSection,
    output_mb: outputLimit,
    /** Of an earlier version, whose processes waited: read, and without effect. */
    idle_pause_minutes: z.optional(z.number().check(z.nonnegative())),
  })
  .check(({ value: { agents, lane, lanes }, issues }) => {
    const refuse = (path: string[], input: string) =>
      issues.push({ code: "custom", path, message: "is no lane of this file", input });
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
