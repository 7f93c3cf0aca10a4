/**
 * Many `holdfast merge` at once, each a process of its own: they wait for each other.
 */
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/index.ts";
import { CheckedHome } from "../support/checked.ts";
import { runCliIn } from "../support/cli-in.ts";
import { gitIn } from "../support/repo.ts";

const MERGES = 10;
/** Prints how many names it sees, and fails if one is used twice. */
const CHECK = "{ name: unique, run: 'ls names | wc -l; test -z \"$(cat names/* | sort | uniq -d)\"' }";

it("merge-1 verify-3 ten merges at once succeed one after the other, and each new tip was checked", async () => {
  using home = new CheckedHome([CHECK], { "names/first": "first\n" });
  const hf = await home.hf();
  const ids: string[] = [];
  for (let at = 0; at < MERGES; at += 1) ids.push((await home.task(`echo name-${at} > names/${at}`)).id);
  const before = gitIn(home.main, "rev-parse", "main");
  const ended = await Promise.all(ids.map((id) => runCliIn(home.main, home.dir, ["merge", id, "--json"])));
  expect(ended.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
    ids.map(() => ({ status: 0, stderr: expect.not.stringMatching(/lock|busy/i) })),
  );
  const tips = gitIn(home.main, "log", "--reverse", "--format=%H", `${before}..main`).split("\n");
  expect(gitIn(home.main, "rev-list", "--count", "--merges", "main")).toBe("0");
  expect(ended.map(({ stdout }) => JSON.parse(stdout).commit).sort()).toEqual([...tips].sort());
  const seen: string[] = [];
  for (const [index, id] of ids.entries()) {
    const { commit } = JSON.parse(ended[index]?.stdout ?? "{}") as { commit: string };
    const receipts: JsonObject[] = [];
    for await (const { type, data } of hf.readJournal(id)) if (type === "check_ended") receipts.push(data);
    const last = receipts.at(-1);
    expect(last).toMatchObject({ passed: true, tree: gitIn(home.main, "rev-parse", `${commit}^{tree}`) });
    seen.push(String(last?.["output"]).trim());
    // Each commit stands on the one before it, which is also the base of its checks.
    expect(last?.["base"]).toBe(gitIn(home.main, "rev-parse", `${commit}~1`));
  }
  expect(seen.map(Number).sort((a, b) => a - b)).toEqual(ids.map((_, at) => at + 2));
  expect(gitIn(home.main, "status", "--porcelain")).toBe("");
  expect(
    execFileSync("ls", [`${home.main}/names`], { encoding: "utf8" })
      .trim()
      .split("\n"),
  ).toHaveLength(MERGES + 1);
  expect(home.strays()).toEqual([]);
});
