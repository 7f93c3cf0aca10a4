import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";
import { gitIn, makeRepo } from "../support/repo.ts";

/** As root a mount namespace is enough; an ordinary user needs a user namespace around it. */
function namespace(): string[] | undefined {
  for (const flags of [["-m"], ["-Urm"]]) {
    try {
      execFileSync("unshare", [...flags, "true"], { stdio: "ignore" });
      return ["unshare", ...flags];
    } catch {
      // Not allowed here.
    }
  }
  return undefined;
}

describe("a disk that is full", () => {
  it("makes appends fail with disk_full, can be read, and takes appends again once there is space", async (context) => {
    const via = namespace();
    if (!via) context.skip("this machine gives no mount namespace, so no small disk can be made");
    using dir = new TempDir();
    mkdirSync(dir.join("mount"));
    await using child = new TestChild("fill-disk.ts", [dir.join("mount")], { via: via as string[] });
    const result = JSON.parse(await child.line((line) => line.startsWith("{")));
    expect(result).toMatchObject({
      codes: ["disk_full"],
      opening: "disk_full",
      isReadable: true,
      isSame: true,
      findings: [],
    });
    expect(result.before).toBeGreaterThan(0);
    expect(result.after).toBe(result.before + 20);
  });

  it("makes the home remove its ballast and go on; the ballast is laid again once there is space", async (context) => {
    const via = namespace();
    if (!via) context.skip("this machine gives no mount namespace, so no small disk can be made");
    if (!findProgram("fallocate")) context.skip("this machine has no fallocate, so a home has no ballast");
    using dir = new TempDir();
    mkdirSync(dir.join("mount"));
    await using child = new TestChild("throw-ballast.ts", [dir.join("mount")], { via: via as string[] });
    const { laidBytes, ...rest } = JSON.parse(await child.line((line) => line.startsWith("{")));
    expect(laidBytes).toBeGreaterThan(4_000_000);
    expect(rest).toEqual({ freeBefore: 0, said: "done", isThrown: true, isLaidAgain: true });
  });
});

describe("a session that fills a real disk", () => {
  // Tools for file systems are here, even if PATH does not have the directory.
  process.env["PATH"] += ":/usr/sbin:/sbin";
  const canMount =
    process.getuid?.() === 0 &&
    spawnSync("mkfs.ext4", ["-V"]).status === 0 &&
    spawnSync("unshare", ["-m", "losetup", "-f"]).status === 0;
  if (!canMount)
    console.log("left out: a flooder on a real file system: it takes root, mkfs.ext4 and a loop device");

  it.skipIf(!canMount)(
    "is stopped by its quota, while another session goes on and loses nothing",
    async () => {
      using dir = new TempDir();
      mkdirSync(dir.join("mount"));
      const main = makeRepo(dir.join("main"));
      writeFileSync(dir.join("disk"), "");
      truncateSync(dir.join("disk"), 160 * 1024 * 1024);
      execFileSync("mkfs.ext4", ["-q", "-F", dir.join("disk")]);
      const wall = hasSandbox ? "sandbox" : "none";
      await using child = new TestChild("beside-flooder.ts", [dir.path, main, wall], {
        via: ["unshare", "-m", "--propagation", "private"],
      });
      const result = JSON.parse(await child.line((line) => line.startsWith("{")));
      expect(result.least, "the disk was never full").toBeLessThan(8 * 1024 * 1024);
      expect(result).toMatchObject({
        worker: { outcome: "unverified" },
        isEverySentReceived: true,
        refused: [],
        findings: [],
        listed: 2,
        gc: "done",
        close: "done",
      });
      expect(result.sent).toBeGreaterThan(3);
      expect(result.flooder).toContain("quota_reached");
      expect(["done", "disk_full"]).toContain(result.teardown);
      expect(gitIn(main, "show", `${result.worker.branch}:steps`).split("\n")).toHaveLength(30);
    },
  );
});
