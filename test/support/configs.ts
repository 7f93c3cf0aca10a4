/**
 * Arbitrary holdfast.yaml files, as they are parsed, with every word that can widen.
 */
import fc from "fast-check";
import { type Config, defaultConfig } from "../../src/config/index.ts";

const hosts = fc.subarray(["a.org", "b.org:8080", "*.c.org", "*"]);
const tools = fc.subarray(["*", "read_file", "git_push"]);

const lane = fc.record({
  read: tools,
  write: tools,
  external: tools,
  approval: fc.subarray(["read", "write", "external"] as const),
  hosts,
});

const names = fc.constantFrom("read-only", "repo-fix", "online", "deps", "look", "all");
const isLane = (own: object, name: string) =>
  ["read-only", "repo-fix", "online", ...Object.keys(own)].includes(name);

const agent = fc.record(
  {
    adapter: fc.constant("claude" as const),
    env: fc.subarray(["DATABASE_URL", "NPM_TOKEN"]),
    lane: names,
    budget: fc.record({ usd: fc.constantFrom(1, 5, 50) }),
  },
  { requiredKeys: ["adapter", "env", "lane"] },
);

export const configs: fc.Arbitrary<Config> = fc
  .record({
    lanes: fc.dictionary(fc.constantFrom("deps", "look", "all"), lane),
    default: names,
    include: fc.subarray([".env", "certs", "node_modules"]),
    setup_hosts: hosts,
    agents: fc.dictionary(fc.constantFrom("fix-bot", "reviewer"), agent),
  })
  .map(({ lanes, default: named, include, setup_hosts, agents }) => ({
    ...defaultConfig,
    lanes,
    agents: Object.fromEntries(
      Object.entries(agents).map(([name, { lane: wanted, ...one }]) => [
        name,
        { ...one, ...(isLane(lanes, wanted) && { lane: wanted }) },
      ]),
    ),
    lane: isLane(lanes, named) ? named : "repo-fix",
    setup_hosts,
    capsule: { ...defaultConfig.capsule, include },
  }));
