/**
 * Many capsules at once, in several processes: making them never fails on a lock, and no two share anything.
 */
import { describe, expect, it } from "vitest";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { CapsuleLab, inside } from "../support/capsules.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";
import { fingerprint } from "../support/repo.ts";

const PROCESSES = 4;
const PER_PROCESS = 8;
const ALIVE = process.env["HOLDFAST_LONG"] ? 100 : 20;
const ROUNDS = process.env["HOLDFAST_LONG"] ? 15 : 2;

const available = await (async () => {
  using temp = new TempDir();
  const probes = await Promise.all(
    (["overlay", "clone", "worktree"] as const).map((one) => probe(one, temp.path)),
  );
  return probes.filter(({ isAvailable }) => isAvailable);
})();

describe.each(available)("$strategy", ({ strategy }) => {
  it(`makes ${PROCESSES * PER_PROCESS} capsules at once, ${ROUNDS} times, without a failure`, async () => {
    await using lab = new CapsuleLab(strategy, { files: { "a.txt": "one\n", "src/b.ts": "b\n" } });
    const before = fingerprint(lab.main);
    const children = Array.from({ length: PROCESSES }, (_, index) => {
      const args = [lab.home, lab.main, strategy, String(index), String(PER_PROCESS), String(ROUNDS)];
      return new TestChild("make-capsules.ts", args);
    });
    try {
      const ends = await Promise.all(children.map((child) => child.ended()));
      expect(children.map(({ stderr }) => stderr).join("")).toBe("");
      expect(ends).toEqual(children.map(() => 0));
      for (const { lines } of children) expect(lines.at(-1)).toBe(`made ${PER_PROCESS * ROUNDS}`);
    } finally {
      for (const child of children) child.kill("SIGKILL");
    }
    expect(fingerprint(lab.main)).toBe(before);
  });

  it(`gives each of ${ALIVE} capsules at once its own files, gitdir and port`, async () => {
    await using lab = new CapsuleLab(strategy);
    const capsules = [];
    for (let round = 0; round < ALIVE / 10; round += 1)
      capsules.push(
        ...(await Promise.all(Array.from({ length: 10 }, () => lab.create({ ports: ["PORT"] })))),
      );
    const ports = capsules.map(({ spec }) => spec.ports["PORT"]);
    expect(new Set(ports).size).toBe(ALIVE);
    for (const capsule of capsules)
      await inside(capsule, `echo ${capsule.spec.session} > mine; git add mine; git commit -qm mine`);
    for (const capsule of capsules)
      expect(await inside(capsule, "cat mine; git log --oneline | wc -l")).toBe(`${capsule.spec.session}\n2`);
    for (const capsule of capsules) await lab.remove(capsule);
    expect((await lab.create({ ports: ["PORT"] })).spec.ports["PORT"]).toBeGreaterThan(0);
  });
});
