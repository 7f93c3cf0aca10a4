/**
 * What gc removes of capsules and their caches, and what it never removes.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CarryHome } from "../support/carry.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";

const later = (days: number) => {
  const nowMs = () => Date.now() + days * 24 * 60 * 60 * 1000;
  return { nowMs, monotonicMs: () => performance.now() };
};

describe("gc", () => {
  it("base-1 removes the bases that were used longest ago, but never one that a capsule stands on", async () => {
    using home = new TaskHome({
      "package.json": "0",
      "holdfast.yaml": "capsule: { setup: cp package.json installed }\n",
    });
    const hf = await home.open();
    const sessions: string[] = [];
    for (let number = 1; number <= 6; number += 1) {
      commitFiles(home.main, { "package.json": String(number) }, `dependencies ${number}`);
      const { session, task } = await home.start(hf);
      await turn(task, "echo work > work");
      await task.rest();
      await session.pause();
      sessions.push(session.id);
    }
    const repoDir = join(home.dir, "repos", readdirSync(join(home.dir, "repos"))[0] ?? "");
    const bases = () => readdirSync(join(repoDir, "bases")).filter((name) => /^[0-9a-f]{32}$/.test(name));
    if (!existsSync(join(repoDir, "bases")))
      return console.log("left out: this machine's capsules stand on no base");
    expect(bases()).toHaveLength(6);
    const [first = "", second = ""] = sessions;
    for (const id of sessions.slice(1)) await hf.tearDownSession(id);
    // Layers need their bases too, for as long as gc keeps them.
    await hf.gc();
    expect(bases()).toHaveLength(6);
    const old = await home.open({ clock: later(8) });
    await old.gc();
    await old.gc();
    expect(bases()).toHaveLength(4);
    const kept = await hf.resumeSession(first);
    expect(await inCapsule(hf, kept, "cat installed work")).toBe("1work");
    await (await hf.currentTask(kept, sandbox)).rest();
    await kept.pause();
    // A base that was removed is built again when it is needed.
    const back = await hf.resumeSession(second);
    expect(await inCapsule(hf, back, "cat installed work")).toBe("2work");
    await (await hf.currentTask(back, sandbox)).rest();
    await back.pause();
  });

  it("clears what was left over, but touches nothing of a session while its owner works", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo work > work");
    const held = () =>
      gitIn(home.main, "for-each-ref", "--format=%(refname)", "refs/holdfast/held").split("\n");
    expect(held()).toHaveLength(1);
    const repoDir = join(home.dir, "repos", readdirSync(join(home.dir, "repos"))[0] ?? "");
    const leftover = (path: string) => {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "x"), "x");
      execFileSync("touch", ["-d", "2 hours ago", path]);
      return path;
    };
    const paths = [
      leftover(join(repoDir, "bases", "building-999999999-x")),
      leftover(join(repoDir, "store.git", "incoming-999999999-x")),
      leftover(join(home.dir, ".tmp-abc")),
      leftover(home.sessionDir(session.id, "tasks/9/capsule")),
    ];
    mkdirSync(join(home.dir, "leases"), { recursive: true });
    writeFileSync(join(home.dir, "leases", "29999"), "sess_gone/1\n");
    const others = await home.open();
    // While its owner works, nothing of its session is touched.
    await others.gc();
    expect(existsSync(paths[3] ?? "")).toBe(true);
    expect(home.strays()).not.toEqual([]);
    await task.rest();
    await session.pause();
    const dry = await hf.gc({ dryRun: true });
    expect(dry.done.map(({ what }) => what)).toContain(paths[3]);
    await hf.gc();
    for (const path of paths) expect(existsSync(path), path).toBe(false);
    expect(readdirSync(join(home.dir, "leases"))).toEqual([]);
    expect(held(), "a snapshot stands on it").toHaveLength(1);
    expect((await hf.examine()).filter(({ what }) => what === "left over")).toEqual([]);
    const resumed = await hf.resumeSession(session.id);
    expect(await inCapsule(hf, resumed, "cat work")).toBe("work");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
  });

  it("merges many packs into one and keeps every snapshot", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    for (let number = 1; number <= 30; number += 1) {
      writeFileSync(join((await task.capsule.attach()).root, "n"), `${number}`);
      await using one = await session.beginTurn(`${number}`);
      await one.end();
      await task.checkpoint();
    }
    await task.rest();
    await session.pause();
    const packs = () =>
      execFileSync("sh", ["-c", `ls ${home.dir}/repos/*/store.git/objects/pack/*.pack | wc -l`], {
        encoding: "utf8",
      }).trim();
    expect(Number(packs())).toBeGreaterThan(50);
    await hf.gc();
    expect(packs()).toBe("1");
    execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers`]);
    for (const at of [1, 15, 30]) {
      const fork = await hf.forkSession(session.id, { atTurn: at });
      expect(await inCapsule(hf, fork, "cat n")).toBe(`${at}`);
      await (await hf.currentTask(fork, sandbox)).rest();
      await fork.pause();
    }
  });

  it("layer-1 keeps an old layer with files that are in no snapshot, until a teardown drops them", async () => {
    using home = new CarryHome("overlay");
    const hf = await home.hf();
    await home.task("mkdir node_modules; head -c 2000000 /dev/zero > node_modules/big; echo 1 > one");
    // With a fresh task, the session no longer uses that capsule.
    await home.task("true", { isFresh: true });
    const old = await home.open({ clock: later(30) });
    const cleared = (await old.gc()).done.map(({ what }) => what);
    expect(cleared.filter((what) => what.includes("/layers/"))).toEqual([]);
    await hf.rewindSession(home.id, 1);
    expect((await home.task("cat one; wc -c < node_modules/big")).said).toBe("1\n2000000");
    await hf.tearDownSession(home.id, { dropIgnored: true });
    await old.gc();
    await old.gc();
    expect((await home.task("cat one; ls node_modules")).said).toBe("1");
  });

  it("layer-1 keeps files that a fork still has when its parent drops them", async () => {
    using home = new CarryHome("overlay");
    const hf = await home.hf();
    await home.task("mkdir node_modules; head -c 2000000 /dev/zero > node_modules/big; echo 1 > one");
    const parent = home.id;
    const fork = await hf.forkSession(parent);
    home.id = fork.id;
    await fork.pause();
    await home.task("echo 2 > two");
    // Now only the layers have node_modules.
    await home.task("true", { isFresh: true });
    await hf.tearDownSession(parent, { dropIgnored: true });
    const old = await home.open({ clock: later(30) });
    await old.gc();
    await hf.rewindSession(home.id, 2);
    expect((await home.task("cat two; wc -c < node_modules/big")).said).toBe("2\n2000000");
  });
});
