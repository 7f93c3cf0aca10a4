/**
 * Where something was refused or undone, a person can go on: nothing is left in the way, and the way out is one.
 */
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

/** A task that is run to its end. */
const run = (home: HostHome, where: readonly string[], does: string) =>
  home.cli("run", ...where, ...wall, "--", "sh", "-c", does);

describe("a new session whose first task is refused", () => {
  it("is not left behind, so its name is free again", async () => {
    using home = new HostHome({ "a.txt": "one\n", "holdfast.yaml": "base: origin/nope\n" });
    const place = ["--repo", home.main, "--name", "b4"];
    for (const detach of [[], ["--detach"]]) {
      const { status, stdout, stderr } = await run(home, [...place, ...detach], "true");
      expect([status, stdout, stderr]).toEqual([4, "", expect.stringContaining("base_missing")]);
    }
    commitFiles(home.main, { "holdfast.yaml": "nonsense: 1\n" }, "another mistake");
    expect((await run(home, [...place, "--detach"], "true")).stderr).toContain("config_invalid");
    commitFiles(
      home.main,
      { "holdfast.yaml": "capsule: { setup: exit 3 }\n" },
      "only its process finds this",
    );
    for (let attempt = 1; attempt <= 3; attempt += 1)
      expect((await run(home, place, "true")).stderr).toContain("setup_failed");
    expect(JSON.parse((await home.cli("ls", "--all", "--json")).stdout)).toEqual([]);
    commitFiles(home.main, { "holdfast.yaml": "capsule: {}\n" }, "mended");
    expect(await run(home, place, "true")).toMatchObject({ status: 0 });
    await home.quiet();
  });
});
