/**
 * Owns what a lane is: which files a task may write, which hosts it may reach, which tools it has and which
 * of them ask. Three lanes come with Holdfast; the others belong to a repo. Each task has one lane.
 */
import { type Config, DEFAULT_LANE, type LaneSettings, ownLane } from "../config/index.ts";
import {
  EVERY_TOOL,
  HoldfastError,
  isShippedLane,
  type LaneTools,
  parseHosts,
  type ShippedLane,
  shippedLanes,
  type ToolClass,
  toolClasses,
  usualTools,
} from "../contract/index.ts";
import type { AcceptedConfig } from "./accepted-config.ts";

/** The limits of a task. Its sandbox enforces them; its adapter enforces those for the agent's own tools. */
export interface Lane {
  readonly name: string;
  /** Whether its capsule is read-only. */
  readonly isReadOnly: boolean;
  /** Whether its agent may edit files but run no commands. The sandbox can't tell these apart. */
  readonly isWithoutCommands: boolean;
  /** Patterns of the hosts that it may reach; `*` is any public host. */
  readonly hosts: readonly string[];
  /** Which tools it has, and which of them ask. */
  readonly tools: LaneTools;
}

/** Whether a lane has a tool of this class. */
export function hasTool(tools: LaneTools, kind: ToolClass, tool: string): boolean {
  return tools[kind].includes(EVERY_TOOL) || tools[kind].includes(tool);
}

/** What a person asked for. Without a lane: the default lane. */
export interface LaneChoice {
  readonly lane?: string | undefined;
  /** In addition to those of the lane. */
  readonly hosts?: readonly string[] | undefined;
  /** The agent definition that the task's spec names. */
  readonly definition?: string | undefined;
}

const NARROWEST: ShippedLane = "read-only";
/** The entries of `write` that let an agent run commands. */
const COMMANDS: readonly string[] = [EVERY_TOOL, "run_command"];

const repoFix: LaneSettings = {
  read: [...usualTools.read],
  write: [...usualTools.write],
  external: [...usualTools.external],
  approval: [...usualTools.approval],
  hosts: [],
};

const shipped: Readonly<Record<ShippedLane, LaneSettings>> = {
  "read-only": { ...repoFix, write: [] },
  [DEFAULT_LANE]: repoFix,
  online: { ...repoFix, hosts: ["*"] },
};

export function laneSettings({ lanes }: Pick<Config, "lanes">, name: string): LaneSettings | undefined {
  return isShippedLane(name) ? shipped[name] : ownLane(lanes, name);
}

/** Holdfast's own lanes first. */
export function listLanes(config: AcceptedConfig): Lane[] {
  const names = [...shippedLanes, ...Object.keys(config.lanes).sort()];
  return names.map((lane) => resolveLane(config, { lane }));
}

export function resolveLane(config: AcceptedConfig, { lane: asked, hosts = [] }: LaneChoice): Lane {
  const name = asked ?? config.lane;
  const settings = laneSettings(config, name);
  if (!settings) {
    const known = [...shippedLanes, ...Object.keys(config.lanes).sort()];
    throw new HoldfastError("unknown_lane", `there is no lane ${name}: the lanes are ${known.join(", ")}`, {
      lane: name,
      known,
    });
  }
  const { hosts: own, ...tools } = settings;
  return {
    name,
    isReadOnly: tools.write.length === 0,
    isWithoutCommands: tools.write.length > 0 && !tools.write.some((tool) => COMMANDS.includes(tool)),
    hosts: [...new Set([...own, ...parseHosts(hosts)])],
    tools,
  };
}

/**
 * A lane in which a task may do no more than in either of the two: the first or the second, if one is within
 * the other, or else the lane that writes nothing and reaches nothing. A lane that does not exist any more
 * counts as that one too.
 */
export function laneWithin(config: AcceptedConfig, first: string, second: string = config.lane): string {
  const find = (lane: string) => (laneSettings(config, lane) ? resolveLane(config, { lane }) : undefined);
  const [one, other] = [find(first), find(second)];
  if (one && other && isWithin(one, other)) return first;
  return one && other && isWithin(other, one) ? second : NARROWEST;
}

function isWithin(one: Lane, other: Lane): boolean {
  const isReached = (host: string) =>
    other.hosts.includes(host) || (other.hosts.includes("*") && !host.startsWith("localhost:"));
  return (
    (one.isReadOnly || !other.isReadOnly) &&
    (one.isReadOnly || one.isWithoutCommands || !other.isWithoutCommands) &&
    one.hosts.every(isReached) &&
    other.tools.approval.every((kind) => one.tools.approval.includes(kind)) &&
    toolClasses.every((kind) => one.tools[kind].every((tool) => hasTool(other.tools, kind, tool)))
  );
}
