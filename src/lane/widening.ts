/**
 * Owns which words of a repo's file widen what a task may do, and what remains of the file without them.
 *
 * trust-1 A repo's file by itself can only narrow: in the result of `acceptedPart`, every word that widens
 *    was accepted.
 */
import { type Config, DEFAULT_LANE, type LaneSettings } from "../config/index.ts";
import type { AgentSection, Budget, BudgetLimit, Json } from "../contract/index.ts";
import type { AcceptedConfig } from "./accepted-config.ts";
import { type LaneChoice, laneSettings } from "./lanes.ts";

/** One word of a file that widens. */
export interface Widening {
  /** Its path in the file: `capsule.include`, `lanes.deps.hosts`. */
  readonly key: string;
  readonly value: Json;
  /** The lane that it belongs to. */
  readonly lane?: string;
  /** The agent definition that it belongs to. */
  readonly agent?: string;
}

type Counts = (widening: Widening) => boolean;

interface Kind {
  find(config: Config): readonly Widening[];
  /** The file with only those of its words that count. */
  keep(config: Config, counts: Counts): Config;
}

/** `own`: the limits of the user's settings. A limit above them widens. */
export function wideningsOf(config: Config, own: Budget = {}): Widening[] {
  return kindsFor(own).flatMap((kind) => kind.find(config));
}

export function acceptedPart(config: Config, counts: Counts, own: Budget = {}): AcceptedConfig {
  const left = kindsFor(own).reduce<Config>((narrower, kind) => kind.keep(narrower, counts), config);
  return { ...left, isAccepted: true };
}

/** Whether a task with this choice would have had it. */
export function concerns({ lane: asked, definition }: LaneChoice, config: Config): Counts {
  const lane = asked ?? config.lane;
  return (widening) => {
    if (widening.agent !== undefined) return definition === `agent:${widening.agent}`;
    return widening.key === "lane" ? asked === undefined : (widening.lane ?? lane) === lane;
  };
}

/** A list; each of its entries widens. */
function listed(
  key: string,
  read: (config: Config) => readonly string[],
  write: (config: Config, left: string[]) => Config,
): Kind {
  const widening = (value: string): Widening => ({ key, value });
  return {
    find: (config) => read(config).map(widening),
    keep: (config, counts) =>
      write(
        config,
        read(config).filter((value) => counts(widening(value))),
      ),
  };
}

const include = listed(
  "capsule.include",
  ({ capsule }) => capsule.include,
  (config, left) => ({ ...config, capsule: { ...config.capsule, include: left } }),
);

const setupHosts = listed(
  "setup_hosts",
  ({ setup_hosts }) => setup_hosts,
  (config, left) => ({ ...config, setup_hosts: left }),
);

const ofCheck = (name: string, host: string): Widening => ({ key: `checks.${name}.hosts`, value: host });

const checks: Kind = {
  find: (config) => config.checks.flatMap(({ name, hosts }) => hosts.map((host) => ofCheck(name, host))),
  keep: (config, counts) => ({
    ...config,
    checks: config.checks.map((check) => ({
      ...check,
      hosts: check.hosts.filter((host) => counts(ofCheck(check.name, host))),
    })),
  }),
};

/** A section whose entries widen as a whole: if any word of an entry changes, it is another entry. */
function entries<K extends "tools" | "mcp">(key: K): Kind {
  const widening = (name: string, entry: Config[K][string] | undefined): Widening => ({
    key: `${key}.${name}`,
    value: entry as Json,
  });
  return {
    find: (config) => Object.entries(config[key]).map(([name, entry]) => widening(name, entry)),
    keep: (config, counts) => ({
      ...config,
      [key]: Object.fromEntries(
        Object.entries(config[key]).filter(([name, entry]) => counts(widening(name, entry))),
      ),
    }),
  };
}

const ofLane = (lane: string, word: keyof LaneSettings, value: Json): Widening => ({
  key: `lanes.${lane}.${word}`,
  value,
  lane,
});

const isAsked = ({ approval }: LaneSettings) => approval.includes("external");

/**
 * Includes the tools that a person would not be asked about: with a different set, it is another widening.
 */
const unasked = (lane: string, { approval, external }: LaneSettings): Widening =>
  ofLane(lane, "approval", { approval: [...approval].sort(), external: [...external].sort() });

const lanes: Kind = {
  find: (config) =>
    Object.entries(config.lanes).flatMap(([name, lane]) => [
      ...lane.hosts.map((host) => ofLane(name, "hosts", host)),
      ...(isAsked(lane) ? [] : [unasked(name, lane)]),
    ]),
  keep: (config, counts) => ({
    ...config,
    lanes: Object.fromEntries(
      Object.entries(config.lanes).map(([name, lane]) => {
        const hosts = lane.hosts.filter((host) => counts(ofLane(name, "hosts", host)));
        const isKept = isAsked(lane) || counts(unasked(name, lane));
        return [name, { ...lane, hosts, approval: isKept ? lane.approval : [...lane.approval, "external"] }];
      }),
    ),
  }),
};

/** A default lane beyond the standard one: every task would have it without asking for it. */
const defaultLane: Kind = {
  find: (config) => (isWide(config, config.lane) ? [{ key: "lane", value: config.lane }] : []),
  keep: (config, counts) =>
    !isWide(config, config.lane) || counts({ key: "lane", value: config.lane })
      ? config
      : { ...config, lane: narrower(config, config.lane) },
};

function isWide(config: Config, name: string): boolean {
  const lane = laneSettings(config, name);
  return lane !== undefined && (lane.hosts.length > 0 || !isAsked(lane));
}

/** What the file narrows stays: a lane that writes nothing is not replaced by one that writes. */
function narrower(config: Config, name: string): string {
  return laneSettings(config, name)?.write.length === 0 ? "read-only" : DEFAULT_LANE;
}

const ofAgent = (agent: string, word: "env" | "lane" | "budget", value: Json): Widening => ({
  key: `agents.${agent}.${word}`,
  value,
  agent,
});

type Limit = readonly [name: BudgetLimit, value: number];

const limitsIn = (budget: Budget = {}): Limit[] =>
  Object.entries(budget).flatMap(([name, value]) =>
    value === undefined ? [] : [[name as BudgetLimit, value]],
  );

/** Variables of the person, a wide lane, and limits above the person's own. */
function agentsKind(own: Budget): Kind {
  const isHigher = ([name, value]: Limit) => value > (own[name] ?? Number.POSITIVE_INFINITY);
  const ofLimit = (agent: string, [name, value]: Limit) => ofAgent(agent, "budget", { [name]: value });
  const hasWideLane = (config: Config, { lane }: AgentSection) => lane !== undefined && isWide(config, lane);
  const left = (config: Config, name: string, agent: AgentSection, counts: Counts): AgentSection => {
    const { lane = DEFAULT_LANE, budget } = agent;
    const isNarrowed = hasWideLane(config, agent) && !counts(ofAgent(name, "lane", lane));
    const limits = limitsIn(budget).filter((limit) => !isHigher(limit) || counts(ofLimit(name, limit)));
    return {
      ...agent,
      env: agent.env.filter((variable) => counts(ofAgent(name, "env", variable))),
      ...(isNarrowed && { lane: narrower(config, lane) }),
      ...(budget && { budget: Object.fromEntries(limits) }),
    };
  };
  return {
    find: (config) =>
      Object.entries(config.agents).flatMap(([name, agent]) => [
        ...agent.env.map((variable) => ofAgent(name, "env", variable)),
        ...(hasWideLane(config, agent) ? [ofAgent(name, "lane", agent.lane ?? null)] : []),
        ...limitsIn(agent.budget)
          .filter(isHigher)
          .map((limit) => ofLimit(name, limit)),
      ]),
    keep: (config, counts) => ({
      ...config,
      agents: Object.fromEntries(
        Object.entries(config.agents).map(([name, agent]) => [name, left(config, name, agent, counts)]),
      ),
    }),
  };
}

/** The order matters: whether a lane is wide depends on what remains of it. */
const kindsFor = (own: Budget): readonly Kind[] => [
  include,
  setupHosts,
  checks,
  entries("tools"),
  entries("mcp"),
  lanes,
  defaultLane,
  agentsKind(own),
];
