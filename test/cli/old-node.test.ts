/**
 * The command under a Node that is older than it needs. A real one is looked for on PATH: an older Node lacks modules,
 * so the program must not be loaded at all.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { cliPath } from "../support/cli.ts";
import { TempDir } from "../support/home.ts";

const [needed = 0] = process.versions.node.split(".").map(Number);
const older = (process.env["PATH"] ?? "")
  .split(delimiter)
  .concat("/usr/bin", "/usr/local/bin")
  .map((directory) => join(directory, "node"))
  .find((node) => existsSync(node) && majorOf(node) < needed);
if (!older) console.log("left out: the command under an older Node: there is none on this machine");

it.skipIf(!older)("says which Node it needs, and does nothing; help and version work", () => {
  using home = new TempDir();
  const run = (...args: string[]) =>
    spawnSync(older ?? "", [cliPath, ...args], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOLDFAST_HOME: home.join("home") },
    });
  for (const verb of ["ls", "run", "doctor"])
    expect(run(verb)).toMatchObject({
      status: 5,
      stdout: "",
      stderr: expect.stringMatching(
        /^holdfast: node_too_old: holdfast needs Node 24 or newer, and this is v\S+ \(install Node 24 or newer\)\n$/,
      ),
    });
  expect(existsSync(home.join("home"))).toBe(false);
  expect(run("--version")).toMatchObject({ status: 0, stderr: "" });
  expect(run("--help").stdout).toContain("holdfast run");
});

function majorOf(node: string): number {
  return Number(spawnSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }).stdout.split(".")[0]);
}
