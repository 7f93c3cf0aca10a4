/**
 * Lanes: those that are shipped, a repo's own, and what a person asks for beside them.
 */
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/index.ts";
import { acceptedPart, laneWithin, listLanes, resolveLane } from "../../src/lane/index.ts";

const accepted = async (text: string) => acceptedPart(await parseConfig(text), () => true);

describe("lanes", () => {
  it("three are shipped; the default writes inside and reaches nothing", async () => {
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

  it("hosts that are asked for come to those of the lane, each once, and have to be hosts", async () => {
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
  ])("within %s and %s is %s", async (first, second, expected) => {
    const config = await accepted(`lanes:
      edits: { write: [edit_file] }
      deps: { hosts: [b.org] }
      local: { hosts: ["localhost:5432"] }
      look: { write: [], hosts: [a.org] }
      free: { approval: [] }`);
    expect(laneWithin(config, first, second)).toBe(expected);
  });

  it("one that is not there is named, with those that are", async () => {
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
