import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { replaceFile, TEMPORARY_PREFIX } from "../../src/util/index.ts";
import { memoryDir, TempDir } from "../support/home.ts";
import { PowerLoss, PowerLossDisk } from "../support/power-loss-disk.ts";

describe("replaceFile", () => {
  it("disk-1 leaves the whole old file or the whole new one after a power loss at any step", async () => {
    const seen = new Set<string>();
    for (const lose of [() => true, () => false, () => Math.random() < 0.5]) {
      for (let dieAt = 1, isFinished = false; !isFinished; dieAt += 1) {
        using dir = new TempDir(memoryDir);
        mkdirSync(dir.join("d"));
        const path = dir.join("d", "file");
        writeFileSync(path, "old");
        const disk = new PowerLossDisk(dir.join("attic"), dieAt);
        isFinished = await replaceFile(disk, path, Buffer.from("new")).then(
          () => true,
          (error) => {
            expect(error).toBeInstanceOf(PowerLoss);
            return false;
          },
        );
        disk.losePower(lose);
        const content = readFileSync(path, "utf8");
        seen.add(content);
        if (isFinished) expect(content).toBe("new");
        const others = readdirSync(dir.join("d")).filter((name) => name !== "file");
        expect(others.every((name) => name.startsWith(TEMPORARY_PREFIX))).toBe(true);
      }
    }
    expect([...seen].sort()).toEqual(["new", "old"]);
  });
});
