/**
 * Merges with checks: the branch gets exactly the tree that was verified, whatever the order.
 */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/contract/index.ts";
import type { LocalHome } from "../../../src/library/local-home.ts";
import { CheckedHome } from "../../support/checked.ts";
import { gitIn } from "../../support/repo.ts";

/** A name may be used only once: two sessions that add the same name pass alone, but not together. */
const CHECK = "{ name: unique, run: 'test -z \"$(cat names/* | sort | uniq -d)\"' }";
const FILES = { "names/first": "ani\n", "a.txt": "1\n2\n3\n4\n5\n6\n7\n" };

const treeOf = (home: CheckedHome, name: string) => gitIn(home.main, "rev-parse", `${name}^{tree}`);

async function recorded(hf: LocalHome, id: string, wanted: string): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  for await (const { type, data } of hf.readJournal(id)) if (type === wanted) found.push(data);
  return found;
}

describe("merges with checks", () => {
  it("verify-3 are verified on the tree that the branch gets, and one that conflicts is refused", async () => {
    using home = new CheckedHome([CHECK], FILES);
    const hf = await home.hf();
    const one = await home.task("echo bo > names/one; sed -i s/1/one/ a.txt");
    const two = await home.task("echo cy > names/two; sed -i s/7/seven/ a.txt");
    const third = await home.task("echo di > names/three; sed -i s/1/eins/ a.txt");
    for (const { end } of [one, two, third]) expect(end.outcome).toBe("done");
    const [told] = await hf.findConflicts();
    expect(told?.conflicts.map(({ session, other, paths }) => [[session, other].sort(), paths])).toEqual([
      [[one.id, third.id].sort(), ["a.txt"]],
    ]);

    // The later one is merged first: neither was verified on the tree that the branch gets.
    for (const { id } of [two, one]) {
      const merged = await hf.mergeSession(id);
      expect(merged.verdict).toBe("passed");
      const [verification] = await recorded(hf, id, "verification_ended").then((all) => all.slice(-1));
      expect(verification).toMatchObject({ into: "main", verdict: "passed", tree: treeOf(home, "main") });
      const receipts = await recorded(hf, id, "check_ended");
      expect(receipts.at(-1)).toMatchObject({ passed: true, tree: treeOf(home, "main") });
    }
    expect(gitIn(home.main, "show", "main:a.txt")).toBe("one\n2\n3\n4\n5\n6\nseven");
    await expect(hf.mergeSession(third.id)).rejects.toMatchObject({ code: "merge_conflicts" });
  });

  it("refuse work that passes alone but fails on the branch; a merge with --no-verify is recorded as such", async () => {
    using home = new CheckedHome([CHECK], FILES);
    const hf = await home.hf();
    const one = await home.task("echo bo > names/one");
    const two = await home.task("echo bo > names/two");
    await hf.mergeSession(one.id);
    const tip = gitIn(home.main, "rev-parse", "main");
    await expect(hf.mergeSession(two.id)).rejects.toMatchObject({
      code: "checks_failed",
      facts: { checks: ["unique"] },
    });
    expect(gitIn(home.main, "rev-parse", "main")).toBe(tip);
    expect(gitIn(home.main, "status", "--porcelain")).toBe("");
    // The verdict for the branch does not change the verdict for the task's own tree.
    expect((await hf.showSession(two.id)).task?.verified).toMatchObject({ verdict: "passed" });
    await hf.mergeSession(two.id, { isUnverified: true });
    expect(await recorded(hf, two.id, "work_merged")).toMatchObject([{ isUnverified: true }]);
    expect(home.strays()).toEqual([]);
  });

  it("that are started together wait for each other, and each tip of the branch is checked", async () => {
    using home = new CheckedHome([CHECK], FILES);
    const hf = await home.hf();
    const ids: string[] = [];
    for (const name of ["bo", "cy", "di"]) ids.push((await home.task(`echo ${name} > names/${name}`)).id);
    const merged = await Promise.all(ids.map((id) => hf.mergeSession(id)));
    const tips = gitIn(home.main, "log", "--format=%H", "-3").split("\n").sort();
    expect(merged.map(({ commit }) => commit).sort()).toEqual(tips);
    expect(gitIn(home.main, "rev-list", "--count", "--merges", "main")).toBe("0");
    for (const [index, id] of ids.entries()) {
      const trees = (await recorded(hf, id, "check_ended")).map(({ tree }) => tree);
      expect(trees).toContain(treeOf(home, merged[index]?.commit ?? ""));
    }
  });
});
