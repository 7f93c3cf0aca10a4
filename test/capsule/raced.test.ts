/**
 * Looks at a capsule while a program in it makes, replaces and removes files without pause, as a running agent does.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { isHoldfastError } from "../../src/contract/errors.ts";
import { CapsuleLab, plainSettings } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { until } from "../support/hosts.ts";

const LOOKS = 25;
/** Each name is a file, a link and a directory by turns, and is often gone. */
const RESTLESS = `
  const fs = require("node:fs");
  const at = (...names) => [process.argv[1], ...names].join("/");
  for (let round = 0; ; round += 1) {
    const name = "n" + (round % 40);
    const gone = () => fs.rmSync(at(name), { recursive: true, force: true });
    gone();
    fs.writeFileSync(at(name), "a file\\r\\n");
    gone();
    fs.symlinkSync("nowhere", at(name));
    gone();
    fs.mkdirSync(at(name, "d"), { recursive: true });
    fs.writeFileSync(at(name, "d", "f"), "deep");
    if (round % 3 === 0) gone();
    else fs.rmSync(at(name, "d", "f"));
    if (round % 3 === 1) gone();
    if (round === 200) process.stdout.write("begun");
  }`;

const available = await (async () => {
  using temp = new TempDir();
  const probes = await Promise.all((["overlay", "worktree"] as const).map((one) => probe(one, temp.path)));
  return probes.filter(({ isAvailable }) => isAvailable);
})();

describe.each(available)("$strategy", ({ strategy }) => {
  it("files-1 a look beside a program that changes files succeeds, or fails because it was raced", async () => {
    await using lab = new CapsuleLab(strategy);
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    const child = spawn(process.execPath, ["-e", RESTLESS, root], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await begun(child);
      const ends = new Map<string, number>();
      for (let look = 0; look < LOOKS; look += 1) {
        const end = await capsule.look(plainSettings.limits).then(
          () => "whole",
          (error: unknown) => (isHoldfastError(error) ? error.code : String(error)),
        );
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
      expect(child.exitCode).toBeNull();
      const others = [...ends.keys()].filter((end) => end !== "whole" && end !== "snapshot_raced");
      expect(others).toEqual([]);
      expect(ends.get("snapshot_raced"), "it has to be raced for this to prove anything").toBeGreaterThan(0);
    } finally {
      child.kill("SIGKILL");
    }
  });
});

async function begun(child: ChildProcess): Promise<void> {
  let said = "";
  child.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  await until(() => said.includes("begun"));
}
