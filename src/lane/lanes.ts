/**
 * Owns what a lane is: which files a task may write, which hosts it may reach, which tools it has and which of them ask.
 * Three come with the program, the others are a repo's own. A lane belongs to one task.
 */
import { type Config, DEFAULT_LANE, type LaneSettings, ownLane } from "../config/index.ts";
import {
  HoldfastError,
  isShippedLane,
  parseHosts,
  type ShippedLane,
  shippedLanes,
} from "../contract/index.ts";
import type { AcceptedConfig } from "./accepted-config.ts";

/** What a task is held to: by its sandbox, and its agent's own tools by its adapter. */
export interface LaneInForce {
  readonly name: string;
  /** Whether its capsule is read-only. */
  readonly isReadOnly: boolean;
  /** Whether its agent may edit files, and run no commands: the sandbox can't tell these apart. */
  readonly isWithoutCommands: boolean;
  /** Patterns of the hosts that it may reach; `*` is any public host. */
  readonly hosts: readonly string[];
}

export interface Lane extends LaneInForce, Pick<LaneSettings, "read" | "write" | "external" | "approval"> {}

/** What a person asked for. Without a lane: the default. */
export interface LaneChoice {
  readonly lane?: string | undefined;
  /** Beside those of the lane. */
  readonly hosts?: readonly string[] | undefined;
  /** What its spec says of the agent definition that it goes by. */
  readonly definition?: string | undefined;
}

const NARROWEST: ShippedLane = "read-only";
/** In `write`, what lets an agent run commands. */
const COMMANDS: readonly string[] = ["*", "run_command"];

const repoFix: LaneSettings = {
  read: ["*"],
  write: ["*"],
  external: [],
  approval: ["external"],
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

/** Shipped ones first. */
export function listLanes(config: AcceptedConfig): Lane[] {
  const names = [...shippedLanes, ...Object.keys(config.lanes).sort()];
  return names.map((lane) => resolveLane(config, { lane }));
}

export function resolveLane(config: AcceptedConfig, { lane: asked, hosts = [] }: LaneChoice): Lane {
  const name = asked ?? config.lane;
  const settings = laneSettings(config, name);
  if (!settings) {
    const known = [...shippedLanes, ...Object.keys(config.lanes).sort()];
    throw new HoldfastError("unknown_lane", `there is no lane ${name}: there are ${known.join(", ")}`, {
      lane: name,
      known,
    });
  }
  return {
    ...settings,
    name,
    isReadOnly: settings.write.length === 0,
    isWithoutCommands: settings.write.length > 0 && !settings.write.some((tool) => COMMANDS.includes(tool)),
    hosts: [...new Set([...settings.hosts, ...parseHosts(hosts)])],
  };
}

/**
 * A lane in which a task may do no more than in either of two: the first, the second, or where neither is within the
 * other, the one that writes nothing and reaches nothing. So is one that is not there any more.
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
    other.approval.every((kind) => one.approval.includes(kind))
  );
}
