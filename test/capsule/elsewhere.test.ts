/**
 * The conformance tests again: as an ordinary user, with user namespaces instead of root's rights; and on
 * file systems that share blocks between copies, where the clone strategy works, too.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TempDir } from "../support/home.ts";
import { asNobody, tempOfNobody, testsAgain, whyNotNobody } from "../support/nobody.ts";

// mkfs is in one of these directories, which PATH may not have.
process.env["PATH"] += ":/usr/sbin:/sbin";
const isRoot = process.getuid?.() === 0;

function runConformance(prefix: readonly string[], temp: TempDir, options: readonly string[] = []): string {
  const said = testsAgain(prefix, temp, ["test/capsule/conformance", ...options]);
  const line = said.split("\n").find((one) => one.startsWith("capsules as")) ?? "";
  console.log(line);
  return line;
}

describe("an ordinary user", () => {
  const reason = isRoot ? whyNotNobody : "these tests run as one already";
  if (reason) console.log(`left out: the conformance tests as an ordinary user: ${reason}`);

  it.skipIf(reason !== undefined)("passes the conformance tests with every strategy", () => {
    using temp = tempOfNobody();
    expect(runConformance(asNobody, temp)).toContain("an ordinary user");
  });
});

describe.each(["btrfs", "xfs"])("%s", (fileSystem) => {
  const hasTool = spawnSync(`mkfs.${fileSystem}`, ["--version"]).error === undefined;
  const canMount = isRoot && hasTool && spawnSync("losetup", ["-f"]).status === 0;
  if (!canMount)
    console.log(
      `left out: the conformance tests of clones on ${fileSystem}: they take root, a loop device and mkfs.${fileSystem}`,
    );

  it.skipIf(!canMount)("passes the conformance tests with clones", () => {
    using temp = new TempDir();
    for (const dir of ["tmp", "cache"]) mkdirSync(temp.join(dir));
    writeFileSync(temp.join("disk"), "");
    truncateSync(temp.join("disk"), 640 * 1024 * 1024);
    expect(spawnSync(`mkfs.${fileSystem}`, ["-q", temp.join("disk")]).status).toBe(0);
    const script = 'mount -o loop "$1" "$2" && shift 2 && exec "$@"';
    const mounted = [
      "unshare",
      "-m",
      "--propagation",
      "private",
      "sh",
      "-c",
      script,
      "sh",
      temp.join("disk"),
      temp.join("tmp"),
    ];
    // One file after the other: the file system is small.
    expect(runConformance(mounted, temp, ["--no-file-parallelism"])).toContain("clone");
  });
});
