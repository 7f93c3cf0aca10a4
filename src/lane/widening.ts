/**
 * Owns which words of a repo's file widen what a task may do, and what is left of the file without them.
 *
 * T8 A repo's file can only narrow: of what is made by `acceptedPart`, every word that widens is one that was accepted.
 */
import { type Config, DEFAULT_LANE, type LaneSettings } from "../config/index.ts";
import type { Json } from "../contract/index.ts";
import type { AcceptedConfig } from "./accepted-config.ts";
import { type LaneChoice, laneSettings } from "./lanes.ts";

/** One word of a file that widens. */
export interface Widening {
  /** As the file has it: `capsule.include`, `lanes.deps.hosts`. */
  readonly key: string;
  readonly value: Json;
  /** The lane that it is of. */
  readonly lane?: string;
}

type Counts = (widening: Widening) => boolean;

interface Kind {
  find(config: Config): readonly Widening[];
  /** The same file with those only that count. */
  keep(config: Config, counts: Counts): Config;
}

export function wideningsOf(config: Config): Widening[] {
  return kinds.flatMap((kind) => kind.find(config));
}

export function acceptedPart(config: Config, counts: Counts): AcceptedConfig {
  const left = kinds.reduce<Config>((narrower, kind) => kind.keep(narrower, counts), config);
  return { ...left, isAccepted: true };
}

/** Whether a task of this choice would have had it. */
export function concerns({ lane: asked }: LaneChoice, config: Config): Counts {
  const lane = asked ?? config.lane;
  return (widening) => (widening.key === "lane" ? asked === undefined : (widening.lane ?? lane) === lane);
}

/** A list, each entry of which widens. */
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

const ofLane = (lane: string, word: keyof LaneSettings, value: Json): Widening => ({
  key: `lanes.${lane}.${word}`,
  value,
  lane,
});

const isAsked = ({ approval }: LaneSettings) => approval.includes("external");

/** With the tools that nobody would be asked about: with another one, it is another widening. */
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

/** A default that goes beyond the shipped one: every task would have it without being asked for it. */
const defaultLane: Kind = {
  find: (config) => (isWide(config) ? [{ key: "lane", value: config.lane }] : []),
  keep: (config, counts) => {
    if (!isWide(config) || counts({ key: "lane", value: config.lane })) return config;
    // What the file narrows stays: a lane that writes nothing is not given leave to write.
    const isReadOnly = laneSettings(config, config.lane)?.write.length === 0;
    return { ...config, lane: isReadOnly ? "read-only" : DEFAULT_LANE };
  },
};

function isWide(config: Config): boolean {
  const lane = laneSettings(config, config.lane);
  return lane !== undefined && (lane.hosts.length > 0 || !isAsked(lane));
}

/** In this order: whether the default is wide depends on what is left of the lanes. */
const kinds: readonly Kind[] = [include, setupHosts, lanes, defaultLane];
