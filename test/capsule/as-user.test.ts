/**
 * The conformance tests again, as an ordinary user: with user namespaces instead of root's rights.
 */
import { spawnSync } from "node:child_process";
import { accessSync, chmodSync, chownSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { TempDir } from "../support/home.ts";

const NOBODY = 65_534;
const root = join(import.meta.dirname, "..", "..");
const asNobody = ["setpriv", "--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"];

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return "these tests run as an ordinary user already";
  if (!findProgram("setpriv")) return "setpriv is missing, so root can't become an ordinary user";
  const [program = "", ...args] = [...asNobody, process.execPath, join(root, "package.json")];
  accessSync(join(root, "package.json"), constants.R_OK);
  const { stderr } = spawnSync(program, args, { encoding: "utf8" });
  return /EACCES|Permission denied/.test(stderr)
    ? "the project's directory can't be read by other users"
    : undefined;
}

describe("an ordinary user", () => {
  const reason = whyNot();
  if (reason) console.log(`left out: the conformance tests as an ordinary user: ${reason}`);
  it.skipIf(reason !== undefined)("has capsules of every strategy that conform", () => {
    using temp = new TempDir();
    for (const dir of ["tmp", "cache"]) {
      mkdirSync(temp.join(dir));
      chownSync(temp.join(dir), NOBODY, NOBODY);
    }
    chmodSync(temp.path, 0o755);
    const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
    const [program = "", ...args] = [
      ...asNobody,
      process.execPath,
      vitest,
      "run",
      "--configLoader",
      "native",
      "test/capsule/conformance.test.ts",
    ];
    const env = {
      PATH: process.env["PATH"],
      HOME: temp.join("tmp"),
      TMPDIR: temp.join("tmp"),
      HOLDFAST_TEST_CACHE: temp.join("cache"),
      NO_COLOR: "1",
    };
    const { stdout, stderr, status } = spawnSync(program, args, { cwd: root, env, encoding: "utf8" });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    expect(stdout).toContain("capsules as an ordinary user: ");
    expect(stdout).toMatch(/Tests {2}\d+ passed/);
    console.log(stdout.split("\n").find((line) => line.startsWith("capsules as an ordinary user")));
  });
});
