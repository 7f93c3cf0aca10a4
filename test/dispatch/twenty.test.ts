/**
 * Many sessions in one repo, begun at the same time.
 */
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { gitIn } from "../support/repo.ts";

describe("twenty sessions in one repo at once", () => {
  it("are all opened by holdfast run --detach, and each publishes its own work", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const runs = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        home.cli(
          "run",
          "--detach",
          ...(hasSandbox ? [] : ["--no-sandbox"]),
          "--repo",
          home.main,
          "--",
          "sh",
          "-c",
          `echo ${index} > mine`,
        ),
      ),
    );
    expect(runs.map(({ status, stderr }) => (status === 0 ? 0 : stderr))).toEqual(runs.map(() => 0));
    const ids = runs.map(({ stdout }) => home.idOf(stdout.trim()));
    await until(
      async () => (await dispatcher.list()).filter(({ task }) => isDone(task)).length,
      (done) => done === 20,
    );
    for (const [index, id] of ids.entries())
      expect(gitIn(home.main, "show", `${home.branchOf(id)}:mine`)).toBe(String(index));
    for (const id of ids) await dispatcher.pause(id);
    await home.quiet();
  });
});
