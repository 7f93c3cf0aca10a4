/**
 * Lanes: the shipped ones, a repo's own, and the hosts that a person asks for in addition.
 */
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/index.ts";
import { acceptedPart, laneWithin, listLanes, resolveLane } from "../../src/lane/index.ts";

const accepted = async (text: string) => acceptedPart(await parseConfig(text), () => true);

describe("lanes", () => {
  it("three lanes are shipped, and the default one writes in the capsule and reaches no host", async () => {
    const nothingAsked = await accepted("");
    expect(listLanes(nothingAsked).map(({ name, isReadOnly, hosts }) => [name, isReadOnly, hosts])).toEqual([
      ["read-only", true, []],
      ["repo-fix", false, []],
      ["online", false, ["*"]],
    ]);
    expect(resolveLane(nothingAsked, {})).toMatchObject({
      name: "repo-fix",
      tools: { external: [], approval: ["external"] },
    });
  });

  it("a lane without tools that write is read-only", async () => {
    const config = await accepted("lanes: { look: { write: [], hosts: [a.org] }, deps: { hosts: [b.org] } }");
    expect(resolveLane(config, { lane: "look" })).toMatchObject({ isReadOnly: true, hosts: ["a.org"] });
    expect(resolveLane(config, { lane: "deps" })).toMatchObject({ isReadOnly: false, hosts: ["b.org"] });
    expect(resolveLane(config, {}).name).toBe("repo-fix");
  });

  it("hosts that a person asks for are added to the lane's, each once, and must be valid", async () => {
    const config = await accepted("lanes: { deps: { hosts: [b.org] } }");
    const choice = { lane: "deps", hosts: ["A.org:8080", "b.org", "a.org:8080"] };
    expect(resolveLane(config, choice).hosts).toEqual(["b.org", "a.org:8080"]);
    expect(() => resolveLane(config, { hosts: ["a.org", "10.0.0.1"] })).toThrow(
      expect.objectContaining({ code: "invalid_data", message: expect.stringContaining('"10.0.0.1"') }),
    );
  });

  it.each([
    ["read-only", "repo-fix", "read-only"],
    ["online", "repo-fix", "repo-fix"],
    ["repo-fix", "repo-fix", "repo-fix"],
    ["edits", "repo-fix", "edits"],
    ["repo-fix", "edits", "edits"],
    ["edits", "read-only", "read-only"],
    ["deps", "online", "deps"],
    ["local", "online", "read-only"],
    ["look", "repo-fix", "read-only"],
    ["free", "repo-fix", "repo-fix"],
    ["gone", "repo-fix", "read-only"],
  ])("the lane that stays within both %s and %s is %s", async (first, second, expected) => {
    const config = await accepted(`lanes:
      edits: { write: [edit_file] }
      deps: { hosts: [b.org] }
      local: { hosts: ["localhost:5432"] }
      look: { write: [], hosts: [a.org] }
      free: { approval: [] }`);
    expect(laneWithin(config, first, second)).toBe(expected);
  });

  it("an unknown lane is refused with a list of the lanes", async () => {
    const config = await accepted("lanes: { deps: {} }");
    for (const lane of ["depths", "constructor", "__proto__", ""])
      expect(() => resolveLane(config, { lane }), lane).toThrow(
        expect.objectContaining({
          code: "unknown_lane",
          message: `there is no lane ${lane}: the lanes are read-only, repo-fix, online, deps`,
        }),
      );
  });
});
