/**
 * The conformance tests again: as an ordinary user, with user namespaces instead of root's rights; and on a file
 * system that shares blocks between copies, where there is a strategy more.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TempDir } from "../support/home.ts";
import { asNobody, NOBODY, whyNotNobody } from "../support/nobody.ts";

const root = join(import.meta.dirname, "..", "..");
// Where tools for file systems are, also for whoever has not got it on the way.
process.env["PATH"] += ":/usr/sbin:/sbin";
const isRoot = process.getuid?.() === 0;

function runConformance(prefix: readonly string[], temp: TempDir): string {
  const vitest = [
    process.execPath,
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run",
    "--configLoader",
    "native",
  ];
  const [program = "", ...args] = [...prefix, ...vitest, "test/capsule/conformance.test.ts"];
  const env = {
    PATH: process.env["PATH"],
    HOME: temp.join("tmp"),
    TMPDIR: temp.join("tmp"),
    HOLDFAST_TEST_CACHE: temp.join("cache"),
    NO_COLOR: "1",
  };
  const { stdout, stderr, status } = spawnSync(program, args, { cwd: root, env, encoding: "utf8" });
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toMatch(/Tests {2}\d+ passed/);
  const line = stdout.split("\n").find((one) => one.startsWith("capsules as")) ?? "";
  console.log(line);
  return line;
}

describe("an ordinary user", () => {
  const reason = isRoot ? whyNotNobody : "these tests run as one already";
  if (reason) console.log(`left out: the conformance tests as an ordinary user: ${reason}`);

  it.skipIf(reason !== undefined)("has capsules of every strategy that conform", () => {
    using temp = new TempDir();
    for (const dir of ["tmp", "cache"]) {
      mkdirSync(temp.join(dir));
      chownSync(temp.join(dir), NOBODY, NOBODY);
    }
    chmodSync(temp.path, 0o755);
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

  it.skipIf(!canMount)("has clones that conform, too", () => {
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
    expect(runConformance(mounted, temp)).toContain("clone");
  });
});
