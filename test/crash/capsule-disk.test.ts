/**
 * Capsules on a disk that fills up, and on one that loses power.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openLocalHome } from "../../src/library/local-home.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";

// Tools for file systems are here, even if PATH does not have the directory.
process.env["PATH"] += ":/usr/sbin:/sbin";
const isRoot = process.getuid?.() === 0;

function namespace(): string[] | undefined {
  return [["-m"], ["-Urm"]]
    .map((flags) => ["unshare", ...flags])
    .find(([program = "", ...args]) => spawnSync(program, [...args, "true"]).status === 0);
}

describe("a disk that is full", () => {
  it("makes building a base or writing a snapshot fail with disk_full, and leaves all as it was before", async (context) => {
    const via = namespace();
    if (!via) context.skip("this machine gives no mount namespace, so no small disk can be made");
    using temp = new TempDir();
    mkdirSync(temp.join("mount"));
    const main = makeRepo(temp.join("main"));
    gitIn(main, "branch", "small");
    gitIn(main, "checkout", "-q", "-b", "large");
    commitFiles(main, { large: Buffer.alloc(80 * 1024 * 1024, "x") }, "large");
    await using child = new TestChild("fill-capsules.ts", [temp.join("mount"), main], {
      via: via as string[],
    });
    const result = JSON.parse(await child.line((line) => line.startsWith("{")));
    expect(result).toEqual({
      building: "disk_full",
      leftAfterBuilding: [],
      first: "done",
      snapshotting: "disk_full",
      isUnchanged: true,
      again: "done",
      paths: ["big", "work"],
      findings: [],
      leftOver: [],
    });
  });
});

describe("a disk that loses power", () => {
  const canMount =
    isRoot &&
    spawnSync("mkfs.ext4", ["-V"]).status === 0 &&
    spawnSync("unshare", ["-m", "losetup", "-f"]).status === 0;
  if (!canMount)
    console.log("left out: power loss under a real file system: it takes root, mkfs.ext4 and a loop device");

  it.skipIf(!canMount)(
    "store-1 layer-1 still has every checkpoint that was acknowledged before the power went",
    async () => {
      using temp = new TempDir();
      mkdirSync(temp.join("mount"));
      const main = makeRepo(temp.join("main"));
      writeFileSync(temp.join("disk"), "");
      truncateSync(temp.join("disk"), 128 * 1024 * 1024);
      execFileSync("mkfs.ext4", ["-q", "-F", temp.join("disk")]);
      await using child = new TestChild("cut-power.ts", [temp.path, main], {
        via: ["unshare", "-m", "--propagation", "private"],
      });
      await child.line((line) => line === "done");
      for (const line of child.lines.filter((one) => one.startsWith("cut"))) {
        const [, number = "", id = ""] = line.split(" ");
        const at = temp.join(`after-${number}`);
        mkdirSync(at);
        execFileSync("mount", ["-o", "loop", temp.join(`cut-${number}`), at]);
        try {
          const hf = await openLocalHome({ home: join(at, "home") });
          expect((await hf.auditSession(id)).findings, line).toEqual([]);
          // The live files may be torn, because only the checkpoint was acknowledged.
          execFileSync("rm", [
            "-rf",
            join(at, "home/sessions", id, "tasks/1/capsule"),
            join(at, `home/repos/${String(execFileSync("ls", [join(at, "home/repos")])).trim()}/layers`),
          ]);
          const fork = await hf.forkSession(id);
          const { root } = await (await hf.currentTask(fork)).capsule.attach();
          expect(readFileSync(join(root, "n"), "utf8"), line).toBe(`${number}\n`);
          expect(readFileSync(join(root, `random-${number}`)).length).toBe(200_000);
          await (await hf.currentTask(fork)).rest();
          await fork.pause();
        } finally {
          execFileSync("umount", [at]);
        }
      }
    },
  );
});
