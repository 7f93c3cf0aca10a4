/**
 * Which words of a repo's file widen, and that of these only the ones count that a person accepted.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/index.ts";
import { acceptedPart, concerns, listLanes, resolveLane, wideningsOf } from "../../src/lane/index.ts";
import { wordOf } from "../../src/lane/trust.ts";
import { configs } from "../support/configs.ts";

const none = () => false;
const all = () => true;
/** The budget that the user's own settings give a session. */
const own = { usd: 5 };

describe("a repo's file", () => {
  it("trust-1 widens only by words that were accepted", () => {
    fc.assert(
      fc.property(configs, fc.integer({ min: 0, max: 1 << 20 }), (config, choice) => {
        const words = wideningsOf(config, own).map(wordOf);
        const chosen = new Set(words.filter((_, at) => (choice >> (at % 20)) & 1));
        const left = acceptedPart(config, (widening) => chosen.has(wordOf(widening)), own);
        expect(chosen).toEqual(new Set([...chosen, ...wideningsOf(left, own).map(wordOf)]));
      }),
    );
  });

  it("trust-1 reaches no host, skips no approval and raises no budget if nothing was accepted", () => {
    fc.assert(
      fc.property(configs, (config) => {
        const left = acceptedPart(config, none, own);
        for (const { env, lane = "repo-fix", budget } of Object.values(left.agents)) {
          expect(env).toEqual([]);
          expect(resolveLane(left, { lane }).hosts).toEqual([]);
          expect(budget?.usd ?? own.usd).toBeLessThanOrEqual(own.usd);
        }
        expect(left.setup_hosts).toEqual([]);
        expect(left.capsule.include).toEqual([]);
        for (const { name, hosts, tools } of listLanes(left)) {
          expect(hosts).toEqual(name === "online" ? ["*"] : []);
          expect(tools.approval).toContain("external");
        }
        expect(resolveLane(left, {}).hosts).toEqual([]);
        // Words that narrow count without acceptance.
        if (config.lane !== "online")
          expect(resolveLane(left, {}).isReadOnly).toBe(
            config.lane === "read-only" || config.lanes[config.lane]?.write.length === 0,
          );
      }),
    );
  });

  it("counts as a whole if everything was accepted", () => {
    fc.assert(
      fc.property(configs, (config) => {
        expect(acceptedPart(config, all)).toEqual({ ...config, isAccepted: true });
      }),
    );
  });

  it.each([
    ["an include", "capsule: { include: [.env, certs] }", ["capsule.include .env", "capsule.include certs"]],
    ["hosts for set-up", "setup_hosts: [a.org]", ["setup_hosts a.org"]],
    ["a lane with hosts", "lanes: { x: { hosts: [a.org] } }", ["lanes.x.hosts a.org"]],
    ["a wide default lane", "lane: online", ["lane online"]],
    [
      "a wide default lane of its own",
      "lane: x\nlanes: { x: { hosts: ['*'] } }",
      ["lanes.x.hosts *", "lane x"],
    ],
    ["an agent's variables", "agents: { a: { adapter: claude, env: [DB] } }", ["agents.a.env DB"]],
    ["an agent in a wide lane", "agents: { a: { adapter: claude, lane: online } }", ["agents.a.lane online"]],
    ["an agent with limits", "agents: { a: { adapter: claude, budget: { usd: 99 } } }", []],
    ["set-up without hosts", "capsule: { setup: npm ci }", []],
    ["a narrow default lane", "lane: read-only", []],
    ["a lane that narrows", "lane: x\nlanes: { x: { write: [], approval: [write, external] } }", []],
    ["less than the user allows", "quota: { processes: 5, memory_mb: 1 }\noutput_mb: 1", []],
  ])("names exactly its words that widen: %s", async (_, text, words) => {
    const found = wideningsOf(await parseConfig(text));
    expect(found.map(({ key, value }) => `${key} ${value}`)).toEqual(words);
  });

  it("needs acceptance for a lane without approvals, together with exactly the tools of that lane", async () => {
    const words = async (text: string) => wideningsOf(await parseConfig(text)).map(wordOf);
    const before = await words("lanes: { x: { approval: [], external: [b, a] } }");
    expect(before).toEqual(['["lanes.x.approval",{"approval":[],"external":["a","b"]}]']);
    expect(await words("lanes: { x: { external: [a, b], approval: [] } }")).toEqual(before);
    expect(await words("lanes: { x: { external: [a, b, c], approval: [] } }")).not.toEqual(before);
    expect(await words("lanes: { x: { external: [a], approval: [write] } }")).toHaveLength(1);
    expect(await words("lanes: { x: { external: [a], approval: [external] } }")).toEqual([]);
  });

  it("a task is told only of the words that were not accepted and concern its lane", async () => {
    const config = await parseConfig(
      "lane: x\nlanes: { x: { hosts: [a.org] }, y: { hosts: [b.org] } }\ncapsule: { include: [.env] }",
    );
    const told = (lane?: string) =>
      wideningsOf(config)
        .filter(concerns({ lane }, config))
        .map(({ key }) => key);
    expect(told()).toEqual(["capsule.include", "lanes.x.hosts", "lane"]);
    expect(told("x")).toEqual(["capsule.include", "lanes.x.hosts"]);
    expect(told("y")).toEqual(["capsule.include", "lanes.y.hosts"]);
    expect(told("online")).toEqual(["capsule.include"]);
  });
});
