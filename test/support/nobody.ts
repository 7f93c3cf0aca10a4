/**
 * An ordinary user, for tests that root runs: what root may do says little about what others may.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { findOutsideProgram } from "../../src/process/index.ts";
import { TempDir } from "./home.ts";

export const NOBODY = 65_534;
const root = join(import.meta.dirname, "..", "..");

const setpriv = findOutsideProgram("setpriv") ?? "setpriv";
const become = [setpriv, "--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"];
const isRoot = process.getuid?.() === 0;

/** Words before a command that make an ordinary user run it; none if the tests run as one already. */
export const asNobody: readonly string[] = isRoot ? become : [];

/** Why root can't become an ordinary user; undefined if it can, or does not have to. */
export const whyNotNobody: string | undefined = !isRoot
  ? undefined
  : !findOutsideProgram("setpriv")
    ? "setpriv is missing, so root can't become one"
    : spawnSync(setpriv, [...become.slice(1), "cat", join(root, "package.json")]).status !== 0
      ? "the project's directory can't be read by other users"
      : undefined;

/** A directory whose `tmp` and `cache` belong to the ordinary user. */
export function tempOfNobody(): TempDir {
  const temp = new TempDir();
  for (const dir of ["tmp", "cache"]) {
    mkdirSync(temp.join(dir));
    chownSync(temp.join(dir), NOBODY, NOBODY);
  }
  chmodSync(temp.path, 0o755);
  return temp;
}

/**
 * Runs test files again with these words before the command, and returns the output. Fails unless all pass.
 */
export function testsAgain(prefix: readonly string[], temp: TempDir, files: readonly string[]): string {
  const vitest = [process.execPath, join(root, "node_modules", "vitest", "vitest.mjs"), "run"];
  const [program = "", ...args] = [...prefix, ...vitest, "--configLoader", "native", ...files];
  const env = {
    PATH: process.env["PATH"],
    HOME: temp.join("tmp"),
    TMPDIR: temp.join("tmp"),
    HOLDFAST_TEST_CACHE: temp.join("cache"),
    NO_COLOR: "1",
  };
  const { stdout, stderr, status } = spawnSync(program, args, { cwd: root, env, encoding: "utf8" });
  if (status !== 0 || !/Tests {2}\d+ passed/.test(stdout)) throw new Error(`${status}\n${stdout}\n${stderr}`);
  return stdout;
}
