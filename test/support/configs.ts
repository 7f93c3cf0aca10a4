/**
 * Files that a repo might have, as they are parsed, with all that can widen in them.
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

export const configs: fc.Arbitrary<Config> = fc
  .record({
    lanes: fc.dictionary(fc.constantFrom("deps", "look", "all"), lane),
    default: fc.constantFrom("read-only", "repo-fix", "online", "deps", "look", "all"),
    include: fc.subarray([".env", "certs", "node_modules"]),
    setup_hosts: hosts,
  })
  .map(({ lanes, default: named, include, setup_hosts }) => ({
    ...defaultConfig,
    lanes,
    lane: ["read-only", "online", ...Object.keys(lanes)].includes(named) ? named : "repo-fix",
    setup_hosts,
    capsule: { ...defaultConfig.capsule, include },
  }));
