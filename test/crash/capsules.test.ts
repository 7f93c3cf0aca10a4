/**
 * SIGKILL at random moments of a capsule's life. Afterwards nothing that was acknowledged is lost, nothing of
 * the user's repo has changed, and what was left over is cleared by the next collection.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { TestChild } from "../support/children.ts";
import { fingerprint } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const KILLS = process.env["HOLDFAST_LONG"] ? 2000 : 24;
const KILLS_PER_HOME = 12;

async function numberIn(hf: LocalHome, id: string): Promise<number> {
  const session = await hf.resumeSession(id);
  try {
    const task = await hf.currentTask(session, { sandbox: false });
    const { root } = await task.capsule.attach();
    const n = Number(readFileSync(join(root, "n"), "utf8"));
    await task.rest();
    return n;
  } finally {
    await session.pause();
  }
}

/** What is left over after a collection. A program that was just being started when its parent died shows a bit later. */
async function collected(hf: LocalHome) {
  for (let attempt = 1; ; attempt += 1) {
    await hf.gc();
    const all = await hf.examine();
    const findings = all.filter(({ level, what }) => level === "bad" || what === "left over");
    if (findings.length === 0 || attempt === 20) return findings;
    await sleep(50);
  }
}

it(`store-1 base-1 directory-1 task-2 after ${KILLS} kills every acknowledged checkpoint is there and nothing is left over`, {
  timeout: 60 * 60_000,
}, async () => {
  let kills = 0;
  while (kills < KILLS) {
    using home = new TaskHome({ "a.txt": "one\n", "src/b.ts": "b\n" });
    const before = fingerprint(home.main);
    const hf = await home.open();
    const safe = new Map<string, number>();
    for (let round = 0; round < KILLS_PER_HOME && kills < KILLS; round += 1, kills += 1) {
      const seed = kills * 7919 + 1;
      await using child = new TestChild("capsule-life.ts", [home.dir, home.main, String(seed)]);
      await child.line((line) => line === "ready");
      await sleep(((seed * 31) % 600) + 5);
      child.kill("SIGKILL");
      await child.ended();
      expect(child.stderr, `seed ${seed}`).toBe("");
      for (const line of child.lines) {
        const [word, id = "", n] = line.split(" ");
        if (word === "safe") safe.set(id, Number(n));
      }
      expect(await collected(hf), `seed ${seed}`).toEqual([]);
      expect(home.strays(), `seed ${seed}`).toEqual([]);
      const [id] = [...safe.keys()].slice(-1 - (kills % 3));
      if (id) expect(await numberIn(hf, id), `${id}, seed ${seed}`).toBeGreaterThanOrEqual(safe.get(id) ?? 0);
    }
    for (const [id, n] of safe) expect(await numberIn(hf, id), id).toBeGreaterThanOrEqual(n);
    expect(fingerprint(home.main)).toBe(before);
    rmSync(join(home.dir, "trash"), { recursive: true, force: true });
  }
});
