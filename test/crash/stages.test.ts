/**
 * SIGKILL at random moments of a task with checks. The process that continues it comes to the same result:
 * the same tree, the same verdict, one commit, and a repo that has nothing else new.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { CheckedHome } from "../support/checked.ts";
import { TestChild } from "../support/children.ts";
import { fingerprint, gitIn } from "../support/repo.ts";

const KILLS = process.env["HOLDFAST_LONG"] ? 1000 : 20;
const AT_ONCE = 2;
/** A task that was killed so often is let through, so that the next one begins. */
const KILLS_EACH = 4;
/** Every other task is killed soon after the beginning of these stages, one after the other. */
const AIMED = ["verify", "persist"];

/** The stage that a session's records end in. */
async function stageOf(hf: LocalHome, id: string): Promise<string> {
  let stage = "none";
  for await (const { type, data } of hf.readJournal(id)) {
    if (type === "stage_started") stage = String(data["stage"]);
    if (type === "stage_ended") stage = `after ${data["stage"]}`;
  }
  return stage;
}

const branchRef = (home: CheckedHome, id: string) => `refs/heads/${home.branchOf(id)}`;

it(`stages-1 verify-2 after ${KILLS} kills each finished task has the same tree and verdict, and one commit`, {
  timeout: 60 * 60_000,
}, async () => {
  using home = new CheckedHome(["{ name: test, run: 'sleep 0.1; test -e runs' }"], { a: "1\n" });
  const hf = await home.hf();
  const before = fingerprint(home.main);
  const trees = new Set<string>();
  let kills = 0;
  /** How many kills found a task in each stage. */
  const killedIn: Record<string, number> = {};
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const published: string[] = [];
  const oneTask = async (isAimed: boolean) => {
    const session = await hf.openSession({ repo: home.main, title: "killed" });
    const { id } = session;
    await session.release();
    let tipAtCut = "";
    for (let killed = 0; ; ) {
      await using child = new TestChild("run-stages.ts", [home.dir, id]);
      const isLetThrough = killed >= KILLS_EACH || kills >= KILLS;
      // Not before it has loaded: until then there is nothing to cut off.
      const stage = AIMED[killed % 2];
      const begun = isAimed ? child.line((line) => line === `stage ${stage}`) : Promise.resolve("");
      const due = begun.then(() => sleep(isAimed ? random(100) : 250 + random(1200)));
      // A task that does not come to that stage ends by itself.
      const dies = due.then(() => isLetThrough || child.kill("SIGKILL")).catch(() => {});
      await child.ended();
      const isDone = child.lines.includes("ended");
      // What is on the branch once, stays there as it is.
      const tip = gitIn(home.main, "for-each-ref", "--format=%(objectname)", branchRef(home, id));
      expect([tip, ""]).toContain(tipAtCut);
      tipAtCut = tip;
      if (isDone) break;
      await dies;
      expect(child.process.signalCode, child.stderr).toBe("SIGKILL");
      const cutIn = await stageOf(hf, id);
      killedIn[cutIn] = (killedIn[cutIn] ?? 0) + 1;
      killed += 1;
      kills += 1;
    }
    const { task } = await hf.showSession(id);
    // An agent that was cut off is not run again: its work is kept as interrupted, and not verified.
    expect(["done", "interrupted"]).toContain(task?.outcome);
    const records: string[] = [];
    for await (const { type } of hf.readJournal(id)) records.push(type);
    const count = (wanted: string) => records.filter((type) => type === wanted).length;
    expect(count("task_ended")).toBe(1);
    if (task?.outcome === "interrupted") {
      expect({ ...task, tip: tipAtCut }).toMatchObject({ verified: null, published: null, tip: "" });
      expect(count("publishing_started") + count("check_started")).toBe(0);
    }
    if (task?.outcome === "done") {
      published.push(branchRef(home, id));
      expect(count("work_published")).toBe(1);
      expect(task.published).toBe(tipAtCut);
      trees.add(task.verified?.tree ?? "");
      expect(task.verified?.verdict).toBe("passed");
      expect(gitIn(home.main, "log", "--format=%T", `main..${home.branchOf(id)}`)).toBe(task.verified?.tree);
    }
    expect(existsSync(home.sessionDir(id, "tasks", "1", "checking"))).toBe(false);
    expect((await hf.auditSession(id)).findings).toEqual([]);
  };
  const lane = async () => {
    for (let count = 0; kills < KILLS; count += 1) await oneTask(count % 2 === 0);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  expect(killedIn["verify"] ?? 0, JSON.stringify(killedIn)).toBeGreaterThan(0);
  expect(killedIn["persist"] ?? 0, JSON.stringify(killedIn)).toBeGreaterThan(0);
  // At least one task came to its checks, and all that did had the same tree.
  expect(trees.size).toBe(1);
  expect(fingerprint(home.main)).toBe(before);
  // Which the fingerprint leaves out: one branch for each task that was done, and the hold of their base.
  const refs = gitIn(home.main, "for-each-ref", "--format=%(refname)").split("\n");
  expect(refs.filter((ref) => ref.startsWith("refs/heads/holdfast/"))).toEqual(published.sort());
  const base = gitIn(home.main, "rev-parse", "main");
  const others = refs.filter((ref) => !/^refs\/(heads\/|holdfast\/held\/)/.test(ref));
  expect(others).toEqual([]);
  expect(refs.filter((ref) => ref.endsWith(`/${base}`)).length).toBeGreaterThan(0);
  await hf.gc();
  expect((await hf.examine()).filter(({ what }) => what === "left over")).toEqual([]);
  expect(home.strays()).toEqual([]);
});
